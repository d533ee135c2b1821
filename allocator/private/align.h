/* Rounding of addresses and sizes to powers of two. */
#ifndef ALLOCATOR_PRIVATE_ALIGN_H
#define ALLOCATOR_PRIVATE_ALIGN_H

#include <stdint.h>

static inline uint64_t hbm_align_up(uint64_t value, uint32_t shift)
{
    const uint64_t mask = ((uint64_t)1 << shift) - 1;
    return (value + mask) & ~mask;
}

static inline uint64_t hbm_align_down(uint64_t value, uint32_t shift)
{
    return value >> shift << shift;
}

#endif
