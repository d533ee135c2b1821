/* Tags for the names that a log has: each gets one of its own as long as there are any, and the
 * rest share one that is named "other". */
#ifndef FORMATS_COMMON_TAGS_H
#define FORMATS_COMMON_TAGS_H

#include "formats/common/slots.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TAG_OTHER = OP_TAG_COUNT - 1,
    TAG_OWN_COUNT_MAX = TAG_OTHER - 1, /* tags 1 and up; 0 is no tag */
};

/* Writes the name as setup_set_tag() keeps it: two names that print alike are one tag. */
void tag_print(const char *name, size_t length, char text[SETUP_NAME_BYTES]);

/* The tag from first to last (1..TAG_OTHER) that has this text of tag_print(); 0: none has.
 * O(last - first). */
uint8_t tag_find(const struct setup *setup, unsigned first, unsigned last, const char *text);

/* For names that are known and sorted before they get tags, the most important first: the tag of
 * the name at that rank, from 0.  Each rank is asked for once. */
uint8_t tag_by_rank(void *setup, size_t rank, const char *name); /* a tag_giver */

/* Names tags 1 to count of a setup, those that an op has. */
void tags_name_used(struct setup *setup, const struct op_list *ops, const char *const *names,
                    uint8_t count);

/* For names as they come.  Zero is an empty table, of a setup whose tags only it sets. */
struct tag_table {
    uint8_t count;       /* tags of their own so far: 1..count */
    uint8_t places[512]; /* by hash of the name: a tag; 0 = free */
};
/* The tag of that name, a new one if need be; a name of no bytes has tag 0.  O(length). */
uint8_t tag_table_add(struct tag_table *table, struct setup *setup, const char *name,
                      size_t length);

/* --- distinct names with the bytes that each stands for, so that the largest can have tags --- */

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
