/* Counts what the ops of a run, or of many, had the device do: how that is spread, and how it grows
 * with the blocks.  docs/promise.md, "What ops cost", says what is counted. */
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

/* Counts in the same way plain ops, which move nothing.  It remembers the class of a heap of
 * blocks_low to blocks_low + blocks_above blocks.  class is one of the given costs. */
struct plain_costs {
    struct cost_class *class;
    uint64_t blocks_low, blocks_above;
};
void plain_costs_find_class(struct plain_costs *plain, struct op_costs *costs,
                            uint64_t block_count);
static inline void plain_costs_add(struct plain_costs *plain, struct op_costs *costs,
                                   uint64_t block_count, uint64_t calls, uint64_t asked_bytes)
{
    if (block_count - plain->blocks_low > plain->blocks_above) {
        plain_costs_find_class(plain, costs, block_count);
    }
    plain->class->op_count++;
    plain->class->asked_bytes += asked_bytes;
    if (calls > 0) {
        plain->class->spent[COST_CALLS] += calls;
        cost_spread_add(&costs->calls, calls);
    }
}

uint64_t op_costs_op_count(const struct op_costs *costs);
/* So much is enough for per_100000 of 100,000 ops: rounded up to the end of a bucket, at most max.
 */
uint64_t cost_spread_percentile(const struct cost_spread *spread, uint64_t op_count,
                                uint64_t per_100000);

#endif
