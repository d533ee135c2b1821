/* Counts of what a run, or many of them together, did: ops, verdicts, device calls and probes; and
 * what the ops had the device do: how that is spread, and how it grows with the blocks
 * (docs/promise.md, "What ops cost"). */
#ifndef HARNESS_RUN_TOTALS_H
#define HARNESS_RUN_TOTALS_H

#include "harness/op/not_checked.h"
#include "harness/op/op.h"
#include "harness/oracle/regret.h"
#include "harness/oracle/verdict.h"
#include "harness/rules/cost_class.h"
#include "harness/run/probe.h"

#include <stdint.h>

/* --- what ops cost --- */

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

/* --- all of it --- */

/* The totals are in ops, requests, device calls and bytes, as the fields say. */
struct run_totals {
    uint64_t ops; /* acted, skipped ones not counted */
    uint64_t skipped;
    uint64_t ooms, justified, premature, unknown, broken, disputed;
    uint64_t drains, moves, moved_bytes, stagings, evictions; /* device calls that were granted */
    uint64_t unknown_by_class[OOM_CLASS_COUNT];
    uint64_t unrepeated; /* verdicts of lanes that nobody scheduled, and that nobody could repeat */
    uint64_t excused;    /* OOMs that were not judged: a block was in host memory */
    uint64_t not_modelled; /* trials that ended because a lane waited for what nobody sees */
    uint64_t retries;      /* out-of-memories that were asked again; ... */
    uint64_t retries_granted, late; /* ... granted with time pinned, and where it was not */
    /* of hosts that waited for one that did not come (hangs.h): all, because that one ran out of
     * memory, because it left without a word */
    uint64_t hangs, hangs_of_oom, hangs_without_word;
    /* all clients waited for memory (standstills.h): in all, those that one of them could have
     * ended, and those of which that is not known */
    uint64_t standstills, standstills_ordered, standstills_unknown;
    uint64_t shortages; /* calls that a shared device refused, as other hosts had the memory */
    uint64_t search_nodes;
    uint64_t second_opinions;            /* OOMs that the exhaustive judge judged, too */
    uint64_t relations_checked;          /* questions about states related to those of OOMs */
    uint64_t regretted, regrets_unknown; /* requests; regret.h says what */
    uint64_t regrets[REGRET_KIND_COUNT]; /* the same by kind; one request may have several */
    uint64_t regretted_evicted_bytes, regretted_moved_bytes; /* beyond the cheapest plans */
    uint64_t by_kind[OP_KIND_COUNT];                         /* acted */
    uint64_t skipped_by_kind[OP_KIND_COUNT];
    uint64_t schedules, points,
        switches;                 /* of lanes: runs, steps, and how often another one went on */
    uint64_t probes[PROBE_COUNT]; /* ops that hit them */
    uint64_t not_checked[NOT_CHECKED_COUNT]; /* runs on a contract that leaves it open */
    struct op_costs costs;                   /* not of lanes, nor where a fault struck */
};
void run_totals_add(struct run_totals *to, const struct run_totals *from);

#endif
