/* The order of numbers, as qsort() wants it. */
#ifndef HARNESS_BASE_COMPARE_H
#define HARNESS_BASE_COMPARE_H

#include <stdint.h>

/* Negative: left comes before right; positive: behind it; 0: they are equal. */
static inline int compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

#endif
