/* Rounding to multiples of a power of two. */
#ifndef HARNESS_BASE_ALIGN_H
#define HARNESS_BASE_ALIGN_H

#include <stdint.h>

/* power: a power of two; value at most 2^64 - power for align_up. */
static inline uint64_t align_up(uint64_t value, uint64_t power)
{
    return (value + (power - 1)) & ~(power - 1);
}
static inline uint64_t align_down(uint64_t value, uint64_t power)
{
    return value & ~(power - 1);
}

#endif
