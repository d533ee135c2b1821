#include "harness/base/order.h"

#include "harness/base/check.h"

#include <stdlib.h>

static int compare_as_numbers(const void *a, const void *b)
{
    return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int compare_as_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void sort_numbers(uint64_t *values, size_t count)
{
    if (count > 1) {
        qsort(values, count, sizeof *values, compare_as_numbers);
    }
}

void sort_doubles(double *values, size_t count)
{
    if (count > 1) {
        qsort(values, count, sizeof *values, compare_as_doubles);
    }
}

uint64_t median_of_numbers(uint64_t *values, size_t count)
{
    CHECK(count > 0);
    sort_numbers(values, count);
    return values[count / 2];
}

double median_of_doubles(double *values, size_t count)
{
    CHECK(count > 0);
    sort_doubles(values, count);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
