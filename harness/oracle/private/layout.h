/* A layout of a reached state: where each block goes, and where the request. */
#ifndef HARNESS_ORACLE_PRIVATE_LAYOUT_H
#define HARNESS_ORACLE_PRIVATE_LAYOUT_H

#include "harness/oracle/reach.h"

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

#endif
