/* Memory that gone blocks left and that is kept: the pieces of it that a document shows. */
#ifndef CHECKER_PRIVATE_KEPT_H
#define CHECKER_PRIVATE_KEPT_H
#include "checker/private/fact.h"

#include <stdbool.h>
#include <stddef.h>

/* The bytes that a live or dying block takes, from the address on. */
struct kept_taken {
    uint64_t address, bytes;
};

/* The blocks that stand on the device, and the pieces of what was left.  Each size is the whole
 * one, and times are not yet ranked. */
struct kept {
    struct kept_taken *taken;
    struct fact_block *left, *pieces;
    size_t taken_count, left_count, piece_count;
};

/* Finds the pieces, in no order, and reorders what was left; the caller frees all arrays.  False:
 * there is no memory.  O(n log n) for n blocks and ranges left. */
bool kept_cut(struct kept *kept);

#endif
