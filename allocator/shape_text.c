#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocator/hbm_shape.h"
#include "allocator/private/check.h"

/* A reader of text.  Once result is not OK, every further step does nothing. */
struct cursor {
    const char *text;
    size_t offset;
    enum hbm_shape_result result;
};

static char peek_char(const struct cursor *cursor)
{
    return cursor->text[cursor->offset];
}

static void fail_reading(struct cursor *cursor, enum hbm_shape_result result)
{
    if (cursor->result == HBM_SHAPE_OK) {
        cursor->result = result;
    }
}

static bool accept_char(struct cursor *cursor, char wanted)
{
    if (cursor->result != HBM_SHAPE_OK || peek_char(cursor) != wanted) {
        return false;
    }
    cursor->offset++;
    return true;
}

static void expect_char(struct cursor *cursor, char wanted)
{
    if (!accept_char(cursor, wanted)) {
        fail_reading(cursor, HBM_SHAPE_SYNTAX);
    }
}

static uint64_t read_number(struct cursor *cursor)
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
static size_t read_numbers(struct cursor *cursor, char close, uint64_t *numbers, size_t count_max)
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

static void read_type(struct cursor *cursor, struct hbm_shape *shape)
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

static void read_tile(struct cursor *cursor, uint32_t *tile, uint8_t *tile_rank)
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
static void read_layout_rest(struct cursor *cursor)
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

static void read_order(struct cursor *cursor, struct hbm_shape *shape)
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

static void read_layout(struct cursor *cursor, struct hbm_shape *shape)
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
    struct cursor cursor = {.text = text};
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
