/* Arrays that grow by doubling. */
#ifndef HARNESS_BASE_ARRAY_H
#define HARNESS_BASE_ARRAY_H

#include "harness/base/check.h"

#include <stddef.h>
#include <stdlib.h>

/* Makes room for one more element of `size` bytes behind the first count; *capacity counts
 * elements.  Returns the array, which may have moved; frees nothing but the old one. */
static inline void *array_grown(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = *capacity == 0 ? 64 : *capacity * 2;
    array = realloc(array, *capacity * size);
    CHECK(array != NULL);
    return array;
}

/* The element behind the first count, an lvalue to assign to, after making room for it; count goes
 * up by one.  What is assigned does not read count. */
#define ARRAY_ADD(array, count, capacity) \
    (*((array) = array_grown((array), (count), &(capacity), sizeof *(array)), &(array)[(count)++]))

/* The array with room for `bytes`, which may have moved. */
static inline void *array_resized(void *array, size_t bytes)
{
    array = realloc(array, bytes);
    CHECK(array != NULL);
    return array;
}

/* An array of count elements of `size` bytes, all of them 0. */
static inline void *array_zeroed(size_t count, size_t size)
{
    void *array = calloc(count, size);
    CHECK(array != NULL);
    return array;
}

#endif
