/* Size classes, as docs/promise.md has them. */
#include "kit/private/instance.h"

uint64_t kit_class_bytes(const struct target_rounding *rounding, uint64_t granule_bytes,
                         uint64_t size_bytes)
{
    uint64_t class_bytes = size_bytes;
    if (rounding->kind == ROUNDING_CLASSES && size_bytes <= rounding->smallest_bytes) {
        class_bytes = rounding->smallest_bytes;
    } else if (rounding->kind == ROUNDING_CLASSES && size_bytes > 1) {
        /* The power of two below: 2^63 is above 2^62. */
        const uint64_t low = UINT64_C(1) << (63 - __builtin_clzll(size_bytes - 1));
        const uint64_t step = low > rounding->steps ? low / rounding->steps : 1;
        class_bytes = (size_bytes + step - 1) & ~(step - 1);
    }
    return (class_bytes + granule_bytes - 1) & ~(granule_bytes - 1);
}
