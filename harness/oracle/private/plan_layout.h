/* Where everything goes in a reached state so that the request has its place, with few bytes moved.
 */
#ifndef HARNESS_ORACLE_PRIVATE_PLAN_LAYOUT_H
#define HARNESS_ORACLE_PRIVATE_PLAN_LAYOUT_H

#include "harness/oracle/plan.h"
#include "harness/oracle/private/repack.h"

/* A run of free bytes. */
struct layout_hole {
    uint64_t start, end;
};
/* A place for the request that costs the moves of the blocks that lie there. */
struct layout_window {
    uint64_t start, cost_bytes;
};

/* Zero is a valid start; memory stays from one layout to the next. */
struct layout {
    uint64_t *to;     /* by range of the reach: where it goes; unmovable ones stay */
    uint64_t address; /* of the request; UINT64_MAX when it needs no block */
    uint64_t moved_bytes;
    uint64_t *candidate;       /* scratch, like to */
    uint32_t *evacuated;       /* scratch: ranges that must leave a window */
    struct layout_hole *holes; /* scratch */
    size_t capacity;
    uint64_t steps; /* scratch: blocks looked at while insertions are priced */
};
void layout_deinit(struct layout *layout);

/* FOUND, NONE, or UNKNOWN when the packing's budget nodes_max ended. */
enum plan_result layout_find(struct layout *layout, const struct reach *reach,
                             struct repack *repack, uint64_t nodes_max);
/* The same answer without a layout, at a fraction of the cost; *nodes_left becomes what is left of
 * the budget. */
enum plan_result layout_exists(const struct reach *reach, struct repack *repack,
                               uint64_t *nodes_left);

#endif
