#include "allocator/hbm_shape.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocator/private/base.h"

#define LANES 128u
#define SUBLANES 8u
#define SIZE_MAX_BYTES ((uint64_t)1 << 63)

struct element {
    const char *name;
    uint32_t bits;
};

static const struct element elements[HBM_ELEMENT_TYPE_COUNT] = {
    [HBM_PRED] = {"pred", 8},     [HBM_S2] = {"s2", 2},
    [HBM_U2] = {"u2", 2},         [HBM_S4] = {"s4", 4},
    [HBM_U4] = {"u4", 4},         [HBM_S8] = {"s8", 8},
    [HBM_U8] = {"u8", 8},         [HBM_F8E4M3FN] = {"f8e4m3fn", 8},
    [HBM_F8E5M2] = {"f8e5m2", 8}, [HBM_S16] = {"s16", 16},
    [HBM_U16] = {"u16", 16},      [HBM_F16] = {"f16", 16},
    [HBM_BF16] = {"bf16", 16},    [HBM_S32] = {"s32", 32},
    [HBM_U32] = {"u32", 32},      [HBM_F32] = {"f32", 32},
    [HBM_S64] = {"s64", 64},      [HBM_U64] = {"u64", 64},
    [HBM_F64] = {"f64", 64},      [HBM_C64] = {"c64", 64},
    [HBM_C128] = {"c128", 128},
};

uint32_t hbm_element_bits(enum hbm_element_type type)
{
    return elements[type].bits;
}

const char *hbm_element_name(enum hbm_element_type type)
{
    return elements[type].name;
}

void hbm_shape_init(struct hbm_shape *shape, enum hbm_element_type type, const uint64_t *dimensions,
                    size_t rank)
{
    HBM_CHECK(rank <= HBM_SHAPE_RANK_MAX);
    HBM_CHECK(type < HBM_ELEMENT_TYPE_COUNT);
    *shape = (struct hbm_shape){.rank = (uint8_t)rank, .element_type = (uint8_t)type};
    for (size_t i = 0; i < rank; i++) {
        shape->dimensions[i] = dimensions[i];
        shape->minor_to_major[i] = (uint8_t)(rank - 1 - i);
    }
    hbm_shape_tile_default(shape);
}

static uint32_t choose_rank_one_tile(uint64_t dimension)
{
    uint32_t tile = 256;
    while (tile < 1024 && tile < dimension) {
        tile *= 2;
    }
    return tile;
}

void hbm_shape_tile_default(struct hbm_shape *shape)
{
    HBM_CHECK(shape->rank <= HBM_SHAPE_RANK_MAX);
    memset(shape->tile, 0, sizeof shape->tile);
    if (shape->rank <= 1) {
        shape->tile_rank = 1;
        shape->tile[0] = choose_rank_one_tile(shape->rank == 0 ? 1 : shape->dimensions[0]);
        return;
    }
    const uint64_t second_minor = shape->dimensions[shape->minor_to_major[1]];
    shape->tile_rank = 2;
    shape->tile[0] = second_minor <= 2 ? 2 : second_minor <= 4 ? 4 : SUBLANES;
    shape->tile[1] = LANES;
    HBM_CHECK(shape->tile_rank <= HBM_TILE_RANK_MAX);
}

bool hbm_shape_is_valid(const struct hbm_shape *shape)
{
    unsigned seen = 0;
    if (shape->rank > HBM_SHAPE_RANK_MAX || shape->tile_rank > HBM_TILE_RANK_MAX) {
        return false;
    }
    if (shape->element_type >= HBM_ELEMENT_TYPE_COUNT) {
        return false;
    }
    for (unsigned i = 0; i < shape->rank; i++) {
        if (shape->minor_to_major[i] >= shape->rank) {
            return false;
        }
        seen |= 1u << shape->minor_to_major[i];
    }
    for (unsigned i = 0; i < shape->tile_rank; i++) {
        if (shape->tile[i] == 0) {
            return false;
        }
    }
    return seen == (1u << shape->rank) - 1u;
}

static enum hbm_shape_result count_element_bytes(uint64_t count, uint32_t bits, uint64_t *bytes)
{
    uint64_t product;
    if (bits >= 8) {
        if (__builtin_mul_overflow(count, bits / 8, &product) || product > SIZE_MAX_BYTES) {
            return HBM_SHAPE_OVERFLOW;
        }
        *bytes = product;
        return HBM_SHAPE_OK;
    }
    const uint64_t per_byte = 8 / bits;
    product = count / per_byte + (count % per_byte != 0);
    *bytes = product;
    return HBM_SHAPE_OK;
}

/* Multiplies dimensions; a 0 anywhere means no elements, whatever would overflow beside it. */
static enum hbm_shape_result count_elements(const uint64_t *dimensions, size_t rank,
                                            uint64_t *count)
{
    uint64_t product = 1;
    for (size_t i = 0; i < rank; i++) {
        if (dimensions[i] == 0) {
            *count = 0;
            return HBM_SHAPE_OK;
        }
    }
    for (size_t i = 0; i < rank; i++) {
        if (__builtin_mul_overflow(product, dimensions[i], &product)) {
            return HBM_SHAPE_OVERFLOW;
        }
    }
    *count = product;
    return HBM_SHAPE_OK;
}

enum hbm_shape_result hbm_shape_unpadded_bytes(const struct hbm_shape *shape, uint64_t *bytes)
{
    uint64_t count;
    if (count_elements(shape->dimensions, shape->rank, &count) != HBM_SHAPE_OK) {
        return HBM_SHAPE_OVERFLOW;
    }
    return count_element_bytes(count, hbm_element_bits(shape->element_type), bytes);
}

enum hbm_shape_result hbm_shape_padded_bytes(const struct hbm_shape *shape, uint64_t *bytes)
{
    uint64_t padded[HBM_SHAPE_RANK_MAX + HBM_TILE_RANK_MAX];
    const size_t rank = shape->rank > shape->tile_rank ? shape->rank : shape->tile_rank;
    /* A tile of higher rank than the shape sees missing dimensions of 1. */
    for (size_t i = 0; i < rank; i++) {
        padded[i] = i < shape->rank ? shape->dimensions[shape->minor_to_major[i]] : 1;
    }
    for (size_t i = 0; i < shape->tile_rank; i++) {
        uint64_t tile = shape->tile[shape->tile_rank - 1u - i], more;
        if (__builtin_add_overflow(padded[i], tile - 1, &more)) {
            return HBM_SHAPE_OVERFLOW;
        }
        padded[i] = more / tile * tile;
    }
    uint64_t count;
    if (count_elements(padded, rank, &count) != HBM_SHAPE_OK) {
        return HBM_SHAPE_OVERFLOW;
    }
    const bool wide = shape->element_type == HBM_PRED && shape->tile_rank != 0;
    return count_element_bytes(count, wide ? 32 : hbm_element_bits(shape->element_type), bytes);
}

/* A reader of text.  Once result is not OK, every further step does nothing. */
struct shape_cursor {
    const char *text;
    size_t offset;
    enum hbm_shape_result result;
};

static char peek_char(const struct shape_cursor *cursor)
{
    return cursor->text[cursor->offset];
}

static void fail_reading(struct shape_cursor *cursor, enum hbm_shape_result result)
{
    if (cursor->result == HBM_SHAPE_OK) {
        cursor->result = result;
    }
}

static bool accept_char(struct shape_cursor *cursor, char wanted)
{
    if (cursor->result != HBM_SHAPE_OK || peek_char(cursor) != wanted) {
        return false;
    }
    cursor->offset++;
    return true;
}

static void expect_char(struct shape_cursor *cursor, char wanted)
{
    if (!accept_char(cursor, wanted)) {
        fail_reading(cursor, HBM_SHAPE_SYNTAX);
    }
}

static uint64_t read_number(struct shape_cursor *cursor)
{
    uint64_t value = 0;
    if (!isdigit((unsigned char)peek_char(cursor))) {
        fail_reading(cursor, HBM_SHAPE_SYNTAX);
    }
    while (cursor->result == HBM_SHAPE_OK && isdigit((unsigned char)peek_char(cursor))) {
        const uint64_t digit = (uint64_t)(peek_char(cursor) - '0');
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            fail_reading(cursor, HBM_SHAPE_OVERFLOW);
            break;
        }
        cursor->offset++;
    }
    return value;
}

/* Numbers with commas between, up to `close`, which is read too; none at all is legal. */
static size_t read_numbers(struct shape_cursor *cursor, char close, uint64_t *numbers,
                           size_t count_max)
{
    size_t count = 0;
    if (accept_char(cursor, close)) {
        return 0;
    }
    do {
        if (count == count_max) {
            fail_reading(cursor, HBM_SHAPE_LIMIT);
        }
        const uint64_t number = read_number(cursor);
        if (cursor->result == HBM_SHAPE_OK) {
            numbers[count++] = number;
        }
    } while (accept_char(cursor, ','));
    expect_char(cursor, close);
    HBM_CHECK(count <= count_max);
    return count;
}

static void read_type(struct shape_cursor *cursor, struct hbm_shape *shape)
{
    const char *start = cursor->text + cursor->offset;
    const size_t length = strspn(start, "abcdefghijklmnopqrstuvwxyz0123456789");
    for (unsigned type = 0; type < HBM_ELEMENT_TYPE_COUNT; type++) {
        const char *name = hbm_element_name(type);
        if (strlen(name) != length || memcmp(name, start, length) != 0) {
            continue;
        }
        shape->element_type = (uint8_t)type;
        cursor->offset += length;
        return;
    }
    fail_reading(cursor, HBM_SHAPE_SYNTAX);
}

static void read_tile(struct shape_cursor *cursor, uint32_t *tile, uint8_t *tile_rank)
{
    uint64_t numbers[HBM_TILE_RANK_MAX];
    expect_char(cursor, '(');
    size_t count = read_numbers(cursor, ')', numbers, HBM_TILE_RANK_MAX);
    if (cursor->result == HBM_SHAPE_OK && count == 0) {
        fail_reading(cursor, HBM_SHAPE_SYNTAX);
    }
    for (size_t i = 0; cursor->result == HBM_SHAPE_OK && i < count; i++) {
        if (numbers[i] == 0) {
            fail_reading(cursor, HBM_SHAPE_SYNTAX);
        }
        if (numbers[i] > UINT32_MAX) {
            fail_reading(cursor, HBM_SHAPE_OVERFLOW);
        }
        tile[i] = (uint32_t)numbers[i];
    }
    *tile_rank = (uint8_t)count;
}

/* Memory spaces and the like, such as S(1), follow the tiles and do not change the size. */
static void read_layout_rest(struct shape_cursor *cursor)
{
    while (cursor->result == HBM_SHAPE_OK && peek_char(cursor) != '}') {
        if (peek_char(cursor) == '\0') {
            fail_reading(cursor, HBM_SHAPE_SYNTAX);
        } else {
            cursor->offset++;
        }
    }
    expect_char(cursor, '}');
}

static void read_order(struct shape_cursor *cursor, struct hbm_shape *shape)
{
    size_t count = 0;
    while (isdigit((unsigned char)peek_char(cursor)) && cursor->result == HBM_SHAPE_OK) {
        const uint64_t dimension = read_number(cursor);
        if (count >= shape->rank || dimension >= shape->rank) {
            fail_reading(cursor, HBM_SHAPE_SYNTAX);
            return;
        }
        shape->minor_to_major[count++] = (uint8_t)dimension;
        (void)accept_char(cursor, ','); /* without one no digit can follow, and that ends it */
    }
    if (count != shape->rank || !hbm_shape_is_valid(shape)) {
        fail_reading(cursor, HBM_SHAPE_SYNTAX);
    }
    HBM_CHECK(count <= shape->rank);
}

static void read_layout(struct shape_cursor *cursor, struct hbm_shape *shape)
{
    uint32_t second_tile[HBM_TILE_RANK_MAX];
    uint8_t second_rank;
    read_order(cursor, shape);
    if (!accept_char(cursor, ':')) {
        expect_char(cursor, '}');
        return;
    }
    if (accept_char(cursor, 'T')) {
        read_tile(cursor, shape->tile, &shape->tile_rank);
        while (cursor->result == HBM_SHAPE_OK && peek_char(cursor) == '(') {
            read_tile(cursor, second_tile, &second_rank);
        }
    }
    read_layout_rest(cursor);
}

enum hbm_shape_result hbm_shape_parse(const char *text, struct hbm_shape *shape,
                                      size_t *error_offset)
{
    struct shape_cursor cursor = {.text = text};
    struct hbm_shape read = {.rank = 0};
    read_type(&cursor, &read);
    expect_char(&cursor, '[');
    if (cursor.result == HBM_SHAPE_OK) {
        read.rank = (uint8_t)read_numbers(&cursor, ']', read.dimensions, HBM_SHAPE_RANK_MAX);
    }
    for (unsigned i = 0; i < read.rank; i++) {
        read.minor_to_major[i] = (uint8_t)(read.rank - 1u - i);
    }
    if (accept_char(&cursor, '{')) {
        read_layout(&cursor, &read);
    }
    if (cursor.result == HBM_SHAPE_OK && peek_char(&cursor) != '\0') {
        fail_reading(&cursor, HBM_SHAPE_SYNTAX);
    }
    if (cursor.result == HBM_SHAPE_OK) {
        *shape = read;
    } else if (error_offset != NULL) {
        *error_offset = cursor.offset;
    }
    return cursor.result;
}

/* ---- printing ---- */

struct writer {
    char *text;
    size_t capacity;
    size_t used;
};

static void write_text(struct writer *writer, const char *piece)
{
    while (*piece != '\0' && writer->used + 1 < writer->capacity) {
        writer->text[writer->used++] = *piece++;
    }
    writer->text[writer->used] = '\0';
}

static void write_number(struct writer *writer, unsigned position, uint64_t number)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%s%" PRIu64, position == 0 ? "" : ",", number);
    write_text(writer, digits);
}

char *hbm_shape_print(const struct hbm_shape *shape, char *text, size_t capacity)
{
    struct writer writer = {text, capacity, 0};
    write_text(&writer, hbm_element_name(shape->element_type));
    write_text(&writer, "[");
    for (unsigned i = 0; i < shape->rank; i++) {
        write_number(&writer, i, shape->dimensions[i]);
    }
    write_text(&writer, "]");
    if (shape->rank == 0 && shape->tile_rank == 0) {
        return text;
    }
    write_text(&writer, "{");
    for (unsigned i = 0; i < shape->rank; i++) {
        write_number(&writer, i, shape->minor_to_major[i]);
    }
    if (shape->tile_rank != 0) {
        write_text(&writer, ":T(");
    }
    for (unsigned i = 0; i < shape->tile_rank; i++) {
        write_number(&writer, i, shape->tile[i]);
    }
    write_text(&writer, shape->tile_rank != 0 ? ")}" : "}");
    return text;
}
