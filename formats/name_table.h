/* Distinct names with the bytes that each stands for, so that the largest can have tags of their own. */
#ifndef FORMATS_NAME_TABLE_H
#define FORMATS_NAME_TABLE_H

#include "harness/setup.h"

#include <stddef.h>
#include <stdint.h>

struct name {
    char text[SETUP_NAME_BYTES]; /* as it was given, or "..." and its end: paths differ there */
    uint64_t bytes;              /* see name_table_weigh */
};

/* names[count] in the order in which they came.  An open value; zero is an empty table. */
struct name_table {
    struct name *names;
    size_t count, room;
    uint32_t *slots; /* slot_count, a power of two: index + 1 of a name, or 0 */
    size_t slot_count;
    uint64_t seed; /* of the hash; a new one when names fall together more than chance makes them */
};
void name_table_deinit(struct name_table *table);

/* The index of that name, which is added if need be.  O(length), on average. */
uint32_t name_table_add(struct name_table *table, const char *text, size_t length);

/* Adds to the bytes of a name; a sum beyond 2^64 - 1 stays there. */
void name_table_weigh(struct name_table *table, uint32_t index, uint64_t bytes);

/* Writes all indexes to order[count], the name of most bytes first, on equal bytes the one that came first.
 * O(count log count). */
void name_table_rank(const struct name_table *table, uint32_t *order);

#endif
