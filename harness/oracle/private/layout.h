/* How the oracle and the planner look at a reached state: whether movable blocks and the request
 * can be packed into its spans, whether the request fits where nobody learns where blocks lie,
 * where each block and the request go in a layout, and the order of the moves. */
#ifndef HARNESS_ORACLE_PRIVATE_LAYOUT_H
#define HARNESS_ORACLE_PRIVATE_LAYOUT_H

#include "harness/device/span_map.h"
#include "harness/oracle/packing/packing.h"
#include "harness/oracle/plan.h"
#include "harness/oracle/proof.h"
#include "harness/oracle/reach.h"

/* --- repack.c: can they be packed? --- */

/* Bins are the spans that are not empty; items the movable ranges in ascending order, then the
 * request (when it needs a block).  Zero is a valid start, memory stays from one question to the
 * next. */
struct repack {
    struct packing *packing;
    struct packing_bin *bins;
    struct packing_item *items;
    size_t bin_count, item_count, capacity;
};
void repack_deinit(struct repack *repack);

void repack_decide(struct repack *repack, const struct reach *reach, uint64_t nodes_max,
                   bool wants_proof, struct packing_answer *answer);

/* Return the sums of the last question's bins and items, each divided by unit and rounded down. */
uint64_t repack_bin_sum(const struct repack *repack, uint64_t unit);
uint64_t repack_item_sum(const struct repack *repack, uint64_t unit);
uint64_t repack_largest_item(const struct repack *repack); /* bytes; 0 = none */

/* --- sums.c: do they fit by what they take together? --- */

enum sums_answer {
    SUMS_FIT,
    SUMS_LACK, /* it needs more than there is */
    SUMS_OPEN  /* hidden ranges: it depends on where they lie */
};

/* Judges a reached state whose placement is not ranges.  Pages: any free granules serve.  Hidden
 * ranges: k blocks leave at most k + 1 holes, so the largest has at least free / (k + 1). */
enum sums_answer sums_judge(const struct reach *reach);
/* Return the bytes that blocks and the stack take, and those that are left. */
uint64_t sums_taken_bytes(const struct reach *reach);
uint64_t sums_free_bytes(const struct reach *reach);

/* --- layouts --- */

/* A run of free bytes. */
struct layout_hole {
    uint64_t start, end;
};
/* A place for the request that costs the moves of the blocks that lie there. */
struct layout_window {
    uint64_t start, cost_bytes;
    size_t low, high;      /* ranges low..high (not included) */
    uint64_t around_bytes; /* free next to the window once they are gone, on the larger side */
};

/* Zero is a valid start; memory stays from one layout to the next. */
struct plan_layout {
    uint64_t *to;     /* by range of the reach: where it goes; unmovable ones stay */
    uint64_t address; /* of the request; UINT64_MAX when it needs no block */
    uint64_t moved_bytes;
    uint64_t *candidate;       /* scratch, like to */
    uint32_t *evacuated;       /* scratch: ranges that must leave a window */
    struct layout_hole *holes; /* scratch */
    size_t capacity;
    uint64_t steps; /* scratch: blocks looked at while insertions are priced */
};
/* Every range stays. */
static inline void layout_keep_all(const struct reach *reach, uint64_t *to)
{
    for (size_t i = 0; i < reach->range_count; i++) {
        to[i] = reach->ranges[i].start;
    }
}

/* Bytes of the ranges that go elsewhere. */
static inline uint64_t layout_cost(const struct reach *reach, const uint64_t *to)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < reach->range_count; i++) {
        const struct reach_range *range = &reach->ranges[i];
        const bool is_moved = to[i] != range->start && range->start != OOM_IN_HOST_MEMORY;
        bytes += is_moved ? range->size_bytes : 0;
    }
    return bytes;
}

/* --- plan_layout.c --- */

void layout_deinit(struct plan_layout *layout);

/* FOUND, NONE, or UNKNOWN when the packing's budget nodes_max ended. */
enum plan_result layout_find(struct plan_layout *layout, const struct reach *reach,
                             struct repack *repack, uint64_t nodes_max);
/* Gives the same answer without a layout, at a fraction of the cost; *nodes_left becomes what is
 * left of the budget. */
enum plan_result layout_exists(const struct reach *reach, struct repack *repack,
                               uint64_t *nodes_left);

/* --- plan_slide.c --- */

/* Sets to, address and moved_bytes of a layout that has room for the ranges of the reach, of which
 * none is in host memory.  False: there is none.  O(ranges), and what it takes to price the
 * insertions that may be cheaper than the best before them, which is bounded. */
bool slide_find(struct plan_layout *layout, const struct reach *reach);

/* --- plan_moves.c: moves in an order that can be carried out one after the other --- */

/* Zero is a valid start. */
struct move_order {
    struct proof_move *moves; /* move_count of them */
    size_t move_count, move_capacity;
    uint64_t staged_count;
    struct span_map occupied; /* by range index, while ordering */
    struct mover {
        uint32_t blocker;                  /* the range it waits for */
        uint32_t waiter_head, waiter_next; /* those that wait for it */
        uint32_t ready;   /* i < ready_count: a range whose destination may have become free */
        uint8_t progress; /* enum in plan_moves.c */
    } * movers;           /* by range */
    size_t ready_count, capacity;
    bool is_used;
};
void move_order_deinit(struct move_order *order);

/* to: by range of the reach, where it goes; all destinations are disjoint.  Where blocks wait for
 * each other in a circle one of them goes through host memory.  O(moves log ranges). */
void move_order_find(struct move_order *order, const struct reach *reach, const uint64_t *to);

#endif
