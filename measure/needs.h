/* The smallest device that an op list can do with, whatever allocator serves it: a lower bound, and
 * what its client alone holds. */
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

#endif
