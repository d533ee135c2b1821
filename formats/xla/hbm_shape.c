/* "bf16[2,8192,151936]{2,1,0:T(8,128)(2,1)}": how many bytes without padding. */
#include "formats/xla/private/hbm_report.h"

#include "harness/base/size.h"

#include <string.h>

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

static uint64_t find_element_bytes(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        if (strlen(elements[i].name) == length && memcmp(elements[i].name, name, length) == 0) {
            return elements[i].bytes;
        }
    }
    return 0;
}

uint64_t hbm_shape_bytes(const char *text, size_t length)
{
    const char *open = memchr(text, '[', length);
    const char *end = text + length;
    if (open == NULL) {
        return 0;
    }
    uint64_t bytes = find_element_bytes(text, (size_t)(open - text));
    const char *at = open + 1;
    while (bytes != 0 && at < end && *at != ']') {
        const char *begin = at;
        uint64_t dimension = 0;
        while (at < end && *at >= '0' && *at <= '9') {
            at++;
        }
        if (!number_parse(begin, (size_t)(at - begin), &dimension) ||
            __builtin_mul_overflow(bytes, dimension, &bytes) || bytes > (uint64_t)1 << 63) {
            return 0;
        }
        at += at < end && *at == ',' ? 1 : 0;
    }
    return at < end ? bytes : 0;
}
