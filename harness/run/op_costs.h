/* What the ops of a run, or of many, had the device do: how that is spread, and how it grows with
 * the blocks.  What is counted: docs/promise.md, "What ops cost". */
#ifndef HARNESS_RUN_OP_COSTS_H
#define HARNESS_RUN_OP_COSTS_H

#include "harness/rules/cost_class.h"

/* Ops by how much they needed, in buckets: an amount and the end of its bucket differ by at most a
 * quarter. */
enum { COST_BUCKET_COUNT = 192 };
struct cost_spread {
    uint64_t counts[COST_BUCKET_COUNT]; /* of ops that needed some */
    uint64_t max;
};

/* Counts of 64 bits, and two maxima. */
struct op_costs {
    struct cost_class classes[COST_CLASS_COUNT]; /* by the blocks in the heap after the op */
    struct cost_spread calls;                    /* of the device, looks among them */
    struct cost_spread moved_bytes;
};

/* O(1). */
void cost_spread_add(struct cost_spread *spread, uint64_t amount);
static inline void op_costs_add(struct op_costs *costs, const struct op_cost *cost,
                                uint64_t block_count)
{
    cost_class_add(&costs->classes[cost_class_of(block_count)], cost);
    if (cost->calls > 0) {
        cost_spread_add(&costs->calls, cost->calls);
    }
    if (cost->moved_bytes > 0) {
        cost_spread_add(&costs->moved_bytes, cost->moved_bytes);
    }
}
uint64_t op_costs_op_count(const struct op_costs *costs);
/* So much is enough for per_100000 of 100,000 ops: rounded up to the end of a bucket, at most max.
 */
uint64_t cost_spread_percentile(const struct cost_spread *spread, uint64_t op_count,
                                uint64_t per_100000);

#endif
