#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocator/hbm_shape.h"

/* A reader of text.  Once result is not OK, every further step does nothing. */
struct cursor {
    const char *text;
    size_t offset;
    enum hbm_shape_result result;
};

static char peek(const struct cursor *cursor)
{
    return cursor->text[cursor->offset];
}

static void fail(struct cursor *cursor, enum hbm_shape_result result)
{
    if (cursor->result == HBM_SHAPE_OK) {
        cursor->result = result;
    }
}

static bool accept(struct cursor *cursor, char wanted)
{
    if (cursor->result != HBM_SHAPE_OK || peek(cursor) != wanted) {
        return false;
    }
    cursor->offset++;
    return true;
}

static void expect(struct cursor *cursor, char wanted)
{
    if (!accept(cursor, wanted)) {
        fail(cursor, HBM_SHAPE_SYNTAX);
    }
}

static uint64_t number_read(struct cursor *cursor)
{
    uint64_t value = 0;
    if (!isdigit((unsigned char)peek(cursor))) {
        fail(cursor, HBM_SHAPE_SYNTAX);
    }
    while (cursor->result == HBM_SHAPE_OK && isdigit((unsigned char)peek(cursor))) {
        uint64_t digit = (uint64_t)(peek(cursor) - '0');
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            fail(cursor, HBM_SHAPE_OVERFLOW);
            break;
        }
        cursor->offset++;
    }
    return value;
}

/* Numbers with commas between, up to `close`, which is read too; none at all is legal. */
static size_t numbers_read(struct cursor *cursor, char close, uint64_t *numbers, size_t count_max)
{
    size_t count = 0;
    if (accept(cursor, close)) {
        return 0;
    }
    do {
        if (count == count_max) {
            fail(cursor, HBM_SHAPE_LIMIT);
        }
        uint64_t number = number_read(cursor);
        if (cursor->result == HBM_SHAPE_OK) {
            numbers[count++] = number;
        }
    } while (accept(cursor, ','));
    expect(cursor, close);
    return count;
}

static void type_read(struct cursor *cursor, struct hbm_shape *shape)
{
    const char *start = cursor->text + cursor->offset;
    size_t length = strspn(start, "abcdefghijklmnopqrstuvwxyz0123456789");
    for (unsigned type = 0; type < HBM_ELEMENT_TYPE_COUNT; type++) {
        const char *name = hbm_element_name(type);
        if (strlen(name) != length || memcmp(name, start, length) != 0) {
            continue;
        }
        shape->element_type = (uint8_t)type;
        cursor->offset += length;
        return;
    }
    fail(cursor, HBM_SHAPE_SYNTAX);
}

static void tile_read(struct cursor *cursor, uint32_t *tile, uint8_t *tile_rank)
{
    uint64_t numbers[HBM_TILE_RANK_MAX];
    expect(cursor, '(');
    size_t count = numbers_read(cursor, ')', numbers, HBM_TILE_RANK_MAX);
    if (cursor->result == HBM_SHAPE_OK && count == 0) {
        fail(cursor, HBM_SHAPE_SYNTAX);
    }
    for (size_t i = 0; cursor->result == HBM_SHAPE_OK && i < count; i++) {
        if (numbers[i] == 0) {
            fail(cursor, HBM_SHAPE_SYNTAX);
        }
        if (numbers[i] > UINT32_MAX) {
            fail(cursor, HBM_SHAPE_OVERFLOW);
        }
        tile[i] = (uint32_t)numbers[i];
    }
    *tile_rank = (uint8_t)count;
}

/* Memory spaces and the like, such as S(1), follow the tiles and do not change the size. */
static void layout_rest_read(struct cursor *cursor)
{
    while (cursor->result == HBM_SHAPE_OK && peek(cursor) != '}') {
        if (peek(cursor) == '\0') {
            fail(cursor, HBM_SHAPE_SYNTAX);
        } else {
            cursor->offset++;
        }
    }
    expect(cursor, '}');
}

static void order_read(struct cursor *cursor, struct hbm_shape *shape)
{
    size_t count = 0;
    while (isdigit((unsigned char)peek(cursor)) && cursor->result == HBM_SHAPE_OK) {
        uint64_t dimension = number_read(cursor);
        if (count >= shape->rank || dimension >= shape->rank) {
            fail(cursor, HBM_SHAPE_SYNTAX);
            return;
        }
        shape->minor_to_major[count++] = (uint8_t)dimension;
        if (!accept(cursor, ',')) {
            break;
        }
    }
    if (count != shape->rank || !hbm_shape_is_valid(shape)) {
        fail(cursor, HBM_SHAPE_SYNTAX);
    }
}

static void layout_read(struct cursor *cursor, struct hbm_shape *shape)
{
    uint32_t second_tile[HBM_TILE_RANK_MAX];
    uint8_t second_rank;
    order_read(cursor, shape);
    if (!accept(cursor, ':')) {
        expect(cursor, '}');
        return;
    }
    if (accept(cursor, 'T')) {
        tile_read(cursor, shape->tile, &shape->tile_rank);
        while (cursor->result == HBM_SHAPE_OK && peek(cursor) == '(') {
            tile_read(cursor, second_tile, &second_rank);
        }
    }
    layout_rest_read(cursor);
}

enum hbm_shape_result hbm_shape_parse(const char *text, struct hbm_shape *shape,
                                      size_t *error_offset)
{
    struct cursor cursor = {.text = text};
    struct hbm_shape read = {.rank = 0};
    type_read(&cursor, &read);
    expect(&cursor, '[');
    if (cursor.result == HBM_SHAPE_OK) {
        read.rank = (uint8_t)numbers_read(&cursor, ']', read.dimensions, HBM_SHAPE_RANK_MAX);
    }
    for (unsigned i = 0; i < read.rank; i++) {
        read.minor_to_major[i] = (uint8_t)(read.rank - 1u - i);
    }
    if (accept(&cursor, '{')) {
        layout_read(&cursor, &read);
    }
    if (cursor.result == HBM_SHAPE_OK && peek(&cursor) != '\0') {
        fail(&cursor, HBM_SHAPE_SYNTAX);
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

static void put_text(struct writer *writer, const char *piece)
{
    while (*piece != '\0' && writer->used + 1 < writer->capacity) {
        writer->text[writer->used++] = *piece++;
    }
    writer->text[writer->used] = '\0';
}

static void put_number(struct writer *writer, unsigned position, uint64_t number)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%s%" PRIu64, position == 0 ? "" : ",", number);
    put_text(writer, digits);
}

char *hbm_shape_print(const struct hbm_shape *shape, char *text, size_t capacity)
{
    struct writer writer = {text, capacity, 0};
    put_text(&writer, hbm_element_name(shape->element_type));
    put_text(&writer, "[");
    for (unsigned i = 0; i < shape->rank; i++) {
        put_number(&writer, i, shape->dimensions[i]);
    }
    put_text(&writer, "]");
    if (shape->rank == 0 && shape->tile_rank == 0) {
        return text;
    }
    put_text(&writer, "{");
    for (unsigned i = 0; i < shape->rank; i++) {
        put_number(&writer, i, shape->minor_to_major[i]);
    }
    if (shape->tile_rank != 0) {
        put_text(&writer, ":T(");
    }
    for (unsigned i = 0; i < shape->tile_rank; i++) {
        put_number(&writer, i, shape->tile[i]);
    }
    put_text(&writer, shape->tile_rank != 0 ? ")}" : "}");
    return text;
}
