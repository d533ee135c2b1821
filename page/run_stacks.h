/* Finds who holds memory at one turn of a run, by stack: the tree of a flame graph. */
#ifndef PAGE_RUN_STACKS_H
#define PAGE_RUN_STACKS_H

#include "formats/common/stacks.h"
#include "harness/base/writing.h"
#include "page/run_record.h"

/* Appends the tree of what was there at that turn on that host, the outermost frame first.  A tag
 * that is none of the frames is a child of the innermost.  Blocks without a stack stand as in the
 * tree by tag. What has less than 1/2,000 of the whole is gathered.  Before the record is thinned.
 * O(blocks log blocks + nodes). */
void run_stacks_append(const struct run_record *record, const struct stacks *stacks, uint32_t turn,
                       uint32_t host, struct writing *json);

/* Returns what the tree leaves out; "" = nothing. */
const char *run_stacks_note(const struct stacks *stacks);

#endif
