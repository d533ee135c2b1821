/* Sorts by whole numbers in linear time: what importers do with times, of which files have millions. */
#ifndef FORMATS_RADIX_H
#define FORMATS_RADIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct radix_item {
    uint64_t key;
    uint32_t index; /* any number: whose key it is */
};

/* Sorts items[count], below 2^32 of them, by key; equal keys keep their order.  False: no host memory for a second
 * array, and nothing has changed.  O(count) for each 11 bits in which keys differ. */
bool radix_sort(struct radix_item *items, size_t count);

#endif
