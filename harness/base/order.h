/* The order of numbers: comparators for qsort(), sorted arrays and their median. */
#ifndef HARNESS_BASE_ORDER_H
#define HARNESS_BASE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Negative: left comes before right; positive: behind it; 0: they are equal. */
static inline int compare_numbers(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

/* Compares two places in the same way: first their hosts, then the places there. */
static inline int compare_places(uint64_t left_host, uint64_t left, uint64_t right_host,
                                 uint64_t right)
{
    return left_host != right_host ? compare_numbers(left_host, right_host)
                                   : compare_numbers(left, right);
}

/* The order by the first, and by the second among those that are equal there. */
static inline int compare_then(int first, int second)
{
    return first != 0 ? first : second;
}

/* Ascending, in place; values may be NULL where count is 0. */
void sort_numbers(uint64_t *values, size_t count);
void sort_doubles(double *values, size_t count);

/* The middle one, the upper of two; sorts values in place.  count is at least 1. */
uint64_t median_of_numbers(uint64_t *values, size_t count);
/* The middle one, the mean of two; sorts values in place.  count is at least 1. */
double median_of_doubles(double *values, size_t count);

#endif
