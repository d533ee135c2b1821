/* Finds the memory that an op list needs at least, whatever serves it. */
#ifndef MEASURE_LIST_PEAK_H
#define MEASURE_LIST_PEAK_H

#include "harness/op/op.h"

struct list_peak {
    uint64_t bytes; /* the most that its requests hold at once, as they ask; a block that is freed,
                       queued or not, holds nothing any more */
    uint32_t op;    /* after which they first do; OP_NONE: there is no request */
};

/* Finds the peak of a list of one host, whose references name ops.  Programs count with their
 * images, and what unloads them frees them.  O(ops). */
struct list_peak list_peak_find(const struct op_list *ops);

/* True if the op asks for a block; true if it frees the block of op->ref. */
bool list_op_is_request(const struct op *op);
bool list_op_ends(const struct op *op);

#endif
