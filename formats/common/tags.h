/* Tags for the names that a log has: each gets one of its own as long as there are any, and the
 * rest share one that is named "other". */
#ifndef FORMATS_COMMON_TAGS_H
#define FORMATS_COMMON_TAGS_H

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

#endif
