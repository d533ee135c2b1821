/* The smallest device that an op list can do with, whatever allocator serves it: a lower bound, and
 * what its client alone holds.  The lives of its blocks. */
#ifndef MEASURE_NEEDS_H
#define MEASURE_NEEDS_H

#include "harness/op/op.h"
#include "harness/target.h"

#include <stddef.h>

/* Bytes; op: after which the most is first needed (OP_NONE: nothing is). */
struct needs_peak {
    uint64_t bytes;
    uint32_t op;
};
struct needs {
    struct needs_peak asked;  /* blocks, images and the stack that runs, as their requests ask */
    struct needs_peak packed; /* blocks in whole granules, headers included, without any gap */
    uint64_t block_count_max; /* that live at once, programs as well */
};

/* Finds the needs of the ops [0, op_count) of one host, as if each of them was served; references
 * name ops.  A block counts until it is freed, queued or not: a queued free may be awaited.  A
 * stack counts while its program is loaded or executed, and so does the image of a program that may
 * be evicted.  No device smaller than packed.bytes serves these ops under the contract, whatever
 * moves.  Where nothing may move, a larger one may be needed.  Blocks of filler_tag
 * (setup_filler_tag) count as free.  O(ops). */
struct needs needs_find(const struct op_list *ops, size_t op_count, uint32_t host,
                        const struct target_contract *contract, unsigned filler_tag);

/* Finds the memory that a list of one host needs at least, whatever serves it; its references name
 * ops.  bytes: the most that its requests hold at once, as they ask.  A block that is freed, queued
 * or not, holds nothing any more.  Programs count with their images, and what unloads them frees
 * them.  O(ops). */
struct needs_peak list_peak_find(const struct op_list *ops);

/* True if the op asks for a block; true if it frees the block of op->ref. */
bool list_op_is_request(const struct op *op);
bool list_op_ends(const struct op *op);

/* --- lives: when each block of an op list begins and ends, and how many bytes it has --- */

/* A block from the op that asks for it (from) until just before the op that frees it (to,
 * exclusive; of one that is never freed the end of the list): from < to.  bytes: whole granules,
 * its header included, at least one.  Its start plus header_bytes is a multiple of align_bytes, a
 * power of two. */
struct life {
    uint32_t from, to;
    uint64_t bytes, header_bytes, align_bytes;
};

struct list_lives {
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
                             struct list_lives *lives);
void lives_deinit(struct list_lives *lives);

#endif
