/* The lives of the blocks of an op list: when each begins and ends, and how many bytes it has. */
#ifndef MEASURE_LIVES_H
#define MEASURE_LIVES_H

#include "harness/op/op.h"
#include "harness/target.h"

#include <stddef.h>

/* A block from the op that asks for it (from) until just before the op that frees it (to,
 * exclusive; of one that is never freed the end of the list): from < to.  bytes: whole granules,
 * its header included, at least one.  Its start plus header_bytes is a multiple of align_bytes, a
 * power of two.
 */
struct life {
    uint32_t from, to;
    uint64_t bytes, header_bytes, align_bytes;
};

struct lives {
    struct life *lives; /* count of them, ascending in from */
    size_t count;
};

enum lives_result {
    LIVES_OK = 0,
    LIVES_EVICTED,  /* programs may be evicted: they have no one place */
    LIVES_TOO_LARGE /* all bytes together are more than 2^62 */
};

/* Takes the lives of blocks from the ops [0, op_count) of one host, as if each was served;
 * references name ops.  They count as in needs_find(), except for the stack.  There is one: it
 * lives from the start to the end, with the bytes of the largest.  A donated block goes on under
 * its new name.  On failure *lives is empty.  Deinit it in either case.  O(ops). */
enum lives_result lives_take(const struct op_list *ops, size_t op_count, uint32_t host,
                             const struct target_contract *contract, unsigned filler_tag,
                             struct lives *lives);
void lives_deinit(struct lives *lives);

#endif
