/* A hash table of things that its owner keeps in an array: which of them is which key. */
#ifndef FORMATS_COMMON_SLOTS_H
#define FORMATS_COMMON_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open addressing, at most half full.  A probe that is longer than chance makes it has all hashed
 * anew with another seed, which is drawn, so that no choice of keys makes it slow.  Zero is an
 * empty table; the owner frees slots. */
struct slots {
    uint32_t *slots; /* count of them, a power of two: index + 1 of a thing, or 0 */
    size_t count;
    uint64_t seed;
};

/* The kind of things in a table.  The places of things in the table decide nothing but time. */
struct slots_kind {
    size_t size_bytes; /* of one in the array */
    uint64_t (*hash)(const void *thing, uint64_t seed);
    bool (*is_same)(const void *a, const void *b);
};

/* The slot of the thing among things[first..end - 1] that is as key is, or a 0 that the caller
 * fills when it adds the key to the array.  O(1) on average. */
uint32_t *slots_find(struct slots *slots, const struct slots_kind *kind, const void *things,
                     size_t first, size_t end, const void *key);

/* A seed that nobody can have known: drawn by the system, and another one each time. */
uint64_t hash_seed_draw(void);

#endif
