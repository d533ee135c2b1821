/* Sorts by whole numbers in linear time: what importers do with times, of which files have
 * millions; and finds a name that comes twice, in about linear time. */
#ifndef FORMATS_COMMON_RADIX_H
#define FORMATS_COMMON_RADIX_H

#include <stddef.h>
#include <stdint.h>

/* order[count] become the indices of keys[count] in the order of the keys; equal keys in the order
 * of their indices. other: room for as many.  count: 1 to 2^32 - 1.  O(count) for each 8 bits in
 * which keys differ, and what is nearly sorted stays in the caches. */
void radix_order(const uint64_t *keys, size_t count, uint64_t *order, uint64_t *other);

struct double_name {
    const char *text; /* length bytes, any */
    size_t length;
};

/* The lowest number of a name in names[count] (1 to 2^32 - 1) that came before, or count when none
 * did.  O(bytes), and count log count where somebody chose names of the same hash. */
size_t doubles_find(const struct double_name *names, size_t count);

#endif
