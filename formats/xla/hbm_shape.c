/* "bf16[2,8192,151936]{2,1,0:T(8,128)(2,1)}": how many bytes without padding, and with that of its
 * tiles. */
#include "formats/xla/private/hbm_report.h"

#include "harness/base/size.h"

#include <string.h>

enum { DIMENSION_COUNT_MAX = 16 };

/* pred and the types below a byte are left out: reports of different years count them differently.
 */
static const struct {
    const char *name;
    uint64_t bytes;
} elements[] = {
    {"s8", 1},  {"u8", 1},    {"s16", 2},      {"u16", 2},    {"f16", 2}, {"bf16", 2},
    {"s32", 4}, {"u32", 4},   {"f32", 4},      {"s64", 8},    {"u64", 8}, {"f64", 8},
    {"c64", 8}, {"c128", 16}, {"f8e4m3fn", 1}, {"f8e5m2", 1},
};

/* Numbers in brackets, with commas between. */
struct numbers {
    uint64_t values[DIMENSION_COUNT_MAX];
    size_t count; /* all of them; those above DIMENSION_COUNT_MAX are not in values */
};

static uint64_t find_element_bytes(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        if (strlen(elements[i].name) == length && memcmp(elements[i].name, name, length) == 0) {
            return elements[i].bytes;
        }
    }
    return 0;
}

/* Reads numbers from *at on, as long as they come; *at is behind them then.  False: a comma without
 * a number, or one above 2^64 - 1. */
static bool take_numbers(const char **at, const char *end, struct numbers *numbers)
{
    numbers->count = 0;
    while (*at < end && **at >= '0' && **at <= '9') {
        const char *begin = *at;
        uint64_t value = 0;
        while (*at < end && **at >= '0' && **at <= '9') {
            (*at)++;
        }
        if (!number_parse(begin, (size_t)(*at - begin), &value)) {
            return false;
        }
        if (numbers->count < DIMENSION_COUNT_MAX) {
            numbers->values[numbers->count] = value;
        }
        numbers->count++;
        if (*at == end || **at != ',') {
            return true;
        }
        (*at)++;
        if (*at == end || **at < '0' || **at > '9') {
            return false;
        }
    }
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
static void parse_layout(const char *at, const char *end, const struct numbers *dimensions,
                         uint64_t element_bytes, struct hbm_report_shape *shape)
{
    struct numbers layout, tile;
    if (at == end || *at != '{') {
        return;
    }
    at++;
    if (!take_numbers(&at, end, &layout) || layout.count != dimensions->count) {
        return;
    }
    if (layout.count > 0 && layout.values[0] < dimensions->count) {
        shape->innermost = dimensions->values[layout.values[0]];
    }
    if (end - at < 3 || memcmp(at, ":T(", 3) != 0) {
        return;
    }
    at += 3;
    if (take_numbers(&at, end, &tile) && at < end && *at == ')' &&
        tile.count <= DIMENSION_COUNT_MAX) {
        tile_shape(dimensions, &layout, &tile, element_bytes, shape);
    }
}

struct hbm_report_shape hbm_report_parse_shape(const char *text, size_t length)
{
    struct hbm_report_shape shape = {0};
    struct numbers dimensions;
    const char *open = memchr(text, '[', length);
    const char *end = text + length;
    const uint64_t element_bytes = open == NULL ? 0
                                                : find_element_bytes(text, (size_t)(open - text));
    if (element_bytes == 0) {
        return shape;
    }
    const char *at = open + 1;
    if (!take_numbers(&at, end, &dimensions) || at == end || *at != ']' ||
        dimensions.count > DIMENSION_COUNT_MAX) {
        return shape;
    }
    uint64_t bytes = element_bytes;
    for (size_t i = 0; i < dimensions.count; i++) {
        if (!multiply(&bytes, dimensions.values[i])) {
            return shape;
        }
    }
    shape.bytes = bytes;
    parse_layout(at + 1, end, &dimensions, element_bytes, &shape);
    return shape;
}

uint64_t hbm_report_shape_bytes(const char *text, size_t length)
{
    return hbm_report_parse_shape(text, length).bytes;
}
