/* "bf16[2,8192,151936]{2,1,0:T(8,128)(2,1)}": how many bytes without padding, and with that of its
 * tiles. */
#include "formats/common/cursor.h"
#include "formats/xla/private/hbm_report.h"

#include <string.h>

enum { DIMENSION_COUNT_MAX = 16 };

/* pred and the types below a byte are left out: reports of different years count them differently.
 */
static const char *const element_names[] = {"s8",  "u8",   "s16",      "u16",   "f16", "bf16",
                                            "s32", "u32",  "f32",      "s64",   "u64", "f64",
                                            "c64", "c128", "f8e4m3fn", "f8e5m2"};
static const uint8_t element_bytes_of[] = {1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, 1, 1};
enum { ELEMENT_COUNT = sizeof element_bytes_of };

/* Numbers in brackets, with commas between. */
struct numbers {
    uint64_t values[DIMENSION_COUNT_MAX];
    size_t count; /* all of them; those above DIMENSION_COUNT_MAX are not in values */
};

/* Takes numbers as long as they come.  False: a comma without a number, or one above 2^64 - 1. */
static bool take_numbers(struct cursor *cursor, struct numbers *numbers)
{
    numbers->count = 0;
    if (cursor->at == cursor->end || *cursor->at < '0' || *cursor->at > '9') {
        return true;
    }
    do {
        uint64_t value;
        if (!cursor_take_number(cursor, &value)) {
            return false;
        }
        if (numbers->count < DIMENSION_COUNT_MAX) {
            numbers->values[numbers->count] = value;
        }
        numbers->count++;
    } while (cursor_take(cursor, ','));
    return true;
}

static bool multiply(uint64_t *product, uint64_t factor)
{
    return !__builtin_mul_overflow(*product, factor, product) && *product <= (uint64_t)1 << 63;
}

/* A layout lists the dimensions from the innermost one on; a tile pads as many of these as it has
 * numbers, the last number the innermost. */
static void tile_shape(const struct numbers *dimensions, const struct numbers *layout,
                       const struct numbers *tile, uint64_t element_bytes,
                       struct hbm_report_shape *shape)
{
    uint64_t bytes = element_bytes;
    bool is_known = true;
    for (size_t i = 0; i < layout->count || (i == 0 && tile->count > 0); i++) {
        const bool is_scalar = layout->count == 0;
        if (!is_scalar && layout->values[i] >= dimensions->count) {
            return;
        }
        const uint64_t size = is_scalar ? 1 : dimensions->values[layout->values[i]];
        const uint64_t step = i < tile->count ? tile->values[tile->count - 1 - i] : 1;
        if (step == 0 || size > UINT64_MAX - step) {
            return;
        }
        const uint64_t tiled = (size + step - 1) / step * step;
        is_known = is_known && multiply(&bytes, tiled);
        if (i == 0) {
            shape->innermost = size;
            shape->innermost_tiled = tiled;
        }
    }
    shape->tiled_bytes = is_known && tile->count <= (layout->count == 0 ? 1 : layout->count) ? bytes
                                                                                             : 0;
}

/* "{2,1,0:T(8,128)", as far as it goes. */
static void parse_layout(struct cursor *cursor, const struct numbers *dimensions,
                         uint64_t element_bytes, struct hbm_report_shape *shape)
{
    struct numbers layout, tile;
    if (!cursor_take(cursor, '{') || !take_numbers(cursor, &layout) ||
        layout.count != dimensions->count) {
        return;
    }
    if (layout.count > 0 && layout.values[0] < dimensions->count) {
        shape->innermost = dimensions->values[layout.values[0]];
    }
    if (cursor_take_word(cursor, ":T(", 3) && take_numbers(cursor, &tile) &&
        cursor_is_at(cursor, ')') && tile.count <= DIMENSION_COUNT_MAX) {
        tile_shape(dimensions, &layout, &tile, element_bytes, shape);
    }
}

struct hbm_report_shape hbm_report_parse_shape(const char *text, size_t length)
{
    struct hbm_report_shape shape = {0};
    struct cursor cursor = cursor_make(text, length);
    struct numbers dimensions;
    struct text_part name;
    if (!cursor_take_up_to(&cursor, "[", &name)) {
        return shape;
    }
    const size_t element = text_find_name(element_names, ELEMENT_COUNT, name.at, name.length);
    if (element == ELEMENT_COUNT || !take_numbers(&cursor, &dimensions) ||
        !cursor_take(&cursor, ']') || dimensions.count > DIMENSION_COUNT_MAX) {
        return shape;
    }
    uint64_t bytes = element_bytes_of[element];
    for (size_t i = 0; i < dimensions.count; i++) {
        if (!multiply(&bytes, dimensions.values[i])) {
            return shape;
        }
    }
    shape.bytes = bytes;
    parse_layout(&cursor, &dimensions, element_bytes_of[element], &shape);
    return shape;
}

uint64_t hbm_report_shape_bytes(const char *text, size_t length)
{
    return hbm_report_parse_shape(text, length).bytes;
}
