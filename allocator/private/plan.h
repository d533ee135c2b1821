/* Which blocks to move where, so that a demand fits: decided on a snapshot, before anything moves.
 */
#ifndef ALLOCATOR_PRIVATE_PLAN_H
#define ALLOCATOR_PRIVATE_PLAN_H

#include "allocator/private/base.h"

/* One block in the snapshot. */
struct hbm_item {
    uint64_t address; /* where it is */
    uint64_t target;  /* where the plan wants it; equal to address: it stays */
    uint64_t size_bytes;
    uint32_t block;
    uint8_t align_shift;
    bool movable;
};

/* The demand that must fit: a block, a stack, or both. */
struct hbm_demand {
    uint64_t size_bytes; /* of the block, a granule multiple; 0: no block */
    /* [0, stack_bytes) must become free of blocks; at least what is reserved */
    uint64_t stack_bytes;
    uint32_t align_shift; /* of the block, at least the granule's */
};

/* Invariant: items are in address order and disjoint; targets of a successful plan are disjoint, at
 * their alignment, and apart from all unmovable items. */
struct hbm_plan {
    struct hbm_item *items; /* [item_count] */
    size_t item_count;
    size_t item_room; /* items allocated */
    uint64_t capacity_bytes;
    uint32_t granule_shift;
    struct hbm_demand demand;
    uint64_t absent_bytes; /* of blocks without a place, which will need one */
    uint64_t search_nodes_max;
    struct hbm_host *host;
    bool host_refused; /* planning itself had no host memory: the answer is not a proof */
};

/* True when the demand fits as things are; nothing to move. */
bool hbm_plan_direct(const struct hbm_plan *plan);

/* True when it fits after blocks moved within their spans, in order; sets targets such that few
 * bytes move.  On false targets are unspecified.  O(items), and O(items * blocks that move) when
 * some block wants more than granule alignment. */
bool hbm_plan_slide(struct hbm_plan *plan);

/* True when it fits after blocks moved anywhere.  False means that no packing exists, that a search
 * used up its budget, or host_refused. */
bool hbm_plan_repack(struct hbm_plan *plan);

/* Targets for an explicit compaction: each span's movable blocks go to its top, in order; with
 * `anywhere`, blocks of lower spans first go to holes of higher spans. */
void hbm_plan_compact(struct hbm_plan *plan, bool anywhere);

/* The items [first, end) between two unmovable ones, and the bytes [low, high) that they share. */
struct hbm_span {
    size_t first;
    size_t end;
    uint64_t low;
    uint64_t high;
};

/* Splits the items at the unmovable ones.  The first span starts above the demanded stack.  Empty
 * spans (low == high) are left out.  False: an unmovable block is in the demanded stack.
 * spans has room for item_count + 1. */
bool hbm_plan_spans(const struct hbm_plan *plan, struct hbm_span *spans, size_t *span_count);

#endif
