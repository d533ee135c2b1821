/* The order of numbers, as qsort() wants it. */
#ifndef HARNESS_BASE_COMPARE_H
#define HARNESS_BASE_COMPARE_H

#include <stdint.h>

/* Negative: left comes before right; positive: behind it; 0: they are equal. */
static inline int compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

/* The same of a place: on which host, and where there. */
static inline int compare_places(uint64_t left_host, uint64_t left, uint64_t right_host,
                                 uint64_t right)
{
    return left_host != right_host ? compare_numbers(left_host, right_host)
                                   : compare_numbers(left, right);
}

#endif
