/* Heapsort of 32-bit numbers: the C library's qsort may take host memory behind the caller's back.
 */
#ifndef ALLOCATOR_PRIVATE_SORT_H
#define ALLOCATOR_PRIVATE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts so that comes_before(a, b) never holds for a number b that stands earlier than a. */
void hbm_sort(uint32_t *numbers, size_t count,
              bool (*comes_before)(const void *context, uint32_t left, uint32_t right),
              const void *context);

#endif
