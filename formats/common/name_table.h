/* Distinct names with the bytes that each stands for, so that the largest can have tags of their
 * own. */
#ifndef FORMATS_COMMON_NAME_TABLE_H
#define FORMATS_COMMON_NAME_TABLE_H

#include "formats/common/slots.h"
#include "harness/op/setup.h"

#include <stddef.h>
#include <stdint.h>

struct name {
    char text[SETUP_NAME_BYTES]; /* as it was given, or "..." and its end: paths differ there */
    uint64_t bytes;              /* see name_table_weigh */
    uint64_t whole;              /* of name_table_add_whole: a hash of all its bytes */
};

/* names[count] in the order in which they came.  An open value; zero is an empty table. */
struct name_table {
    struct name *names;
    size_t count, room;
    struct slots slots;
};
void name_table_deinit(struct name_table *table);

/* The index of that name, which is added if need be.  O(length), on average.  Long names with the
 * same end are one, but for _whole, which tells them apart by 64 bits of a hash: names of devices.
 * A table has names of one sort. */
uint32_t name_table_add(struct name_table *table, const char *text, size_t length);
uint32_t name_table_add_whole(struct name_table *table, const char *text, size_t length);

/* A name for a table in a place of room bytes: as it is, or, where it is too long, such a hash and
 * its end, as much as there is room for.  A NUL in it becomes '_'.  room: 32 or more. */
void name_keep(const char *text, size_t length, char *to, size_t room);

/* Adds to the bytes of a name; a sum beyond 2^64 - 1 stays there. */
void name_table_weigh(struct name_table *table, uint32_t index, uint64_t bytes);

/* Gives each name that has bytes a tag, those of most bytes first, on equal bytes in the order in
 * which they came; rank counts from 0.  Returns the tags by index, 0 for the others; the caller
 * frees.  O(count log count). */
typedef uint8_t tag_giver(void *context, size_t rank, const char *name);
uint8_t *name_table_give_tags(const struct name_table *table, tag_giver *give, void *context);

#endif
