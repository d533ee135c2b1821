/* Measures the room of a heap at one moment: what is free, what of it is lost to fragmentation, and
 * the largest request that would be served. */
#ifndef MEASURE_HEADROOM_H
#define MEASURE_HEADROOM_H

#include "harness/model/model.h"
#include "harness/oracle/largest.h"

/* Bytes.  in_use + stack + free is the capacity; lost <= free. */
struct headroom {
    bool is_hidden; /* nobody is told where blocks lie: all that is free counts as one hole */
    uint64_t capacity_bytes, in_use_bytes, stack_bytes, free_bytes;
    uint64_t largest_hole_bytes;
    uint64_t lost_bytes; /* free, but not in the largest hole; of a contract that grows by regions
                            a region that could still be taken counts as a hole */
    struct oracle_largest largest; /* buffer, aligned to the granule, that would be served once
                                      every mitigation of the contract is done */
};

/* *headroom is initialised here; oracle and *oom are scratch.  nodes_max bounds the searches, as in
 * oracle_find_largest().  O(30 * blocks) beside them. */
void headroom_take(const struct model *model, struct oracle *oracle, struct oom *oom,
                   uint64_t nodes_max, struct headroom *headroom);

/* If a larger share of what is free is lost now than in *worst, or free_bytes is 0 there, *worst
 * becomes what is now, and true is returned.  Nothing is lost where nothing is free, nor where
 * nobody is told where blocks lie.  worst->largest is looked for only where the contract grows by
 * regions.  For callers that look after each op: O(log blocks) as long as a hole shows that no more
 * is lost, otherwise O(blocks), and the search. */
bool headroom_take_if_worse(const struct model *model, struct oracle *oracle, struct oom *oom,
                            uint64_t nodes_max, struct headroom *worst);

#endif
