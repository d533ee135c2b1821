/* Finds who holds memory at one turn, by tag: as sums, and as the tree of a flame graph. */
#ifndef PAGE_RUN_HOLDERS_H
#define PAGE_RUN_HOLDERS_H

#include "harness/base/writing.h"
#include "page/flame_tree.h"
#include "page/run_record.h"

/* The memory that a tag held at one turn on one host; its stack and retired memory are separate. */
struct run_holders {
    uint64_t bytes[OP_TAG_COUNT], counts[OP_TAG_COUNT];
    uint64_t stack_bytes, retired_bytes, retired_count;
};
/* Adds a block. */
void run_holders_count(struct run_holders *holders, const struct record_block *block);
/* Before the record is thinned. */
void run_holders_take(const struct run_record *record, uint32_t turn, uint32_t host,
                      struct run_holders *holders);
/* True if nobody knows who made the blocks of that tag. */
bool run_holders_is_unknown(const struct setup *setup, uint8_t tag);

/* Adds what the holders have as paths of the names of their tags, between / or ;.  What nobody can
 * be named for is a child of the root, "unknown origin". */
void run_holders_add_flame(struct flame_tree *flame, const struct setup *setup,
                           const struct run_holders *holders);
/* Appends the tree of that alone. */
void run_holders_append_flame(const struct run_holders *holders, const struct setup *setup,
                              struct writing *json);

#endif
