/* Real allocators do these things, and first_fit can be told to: counters that are late, upper
 * bounds or absent, memory that others of the process take from, and owners that are counted. */
#ifndef TARGETS_PRIVATE_FIRST_FIT_WAYS_H
#define TARGETS_PRIVATE_FIRST_FIT_WAYS_H

#include "targets/private/first_fit_heap.h"

/* An open value; first_fit_ways_init() begins it. */
struct first_fit_ways {
    enum target_counting counting; /* of all counters */
    enum target_limit limit;
    bool owners;
    bool steps;                /* it drains and evicts: first_fit_steps.h */
    enum target_growth cost;   /* of device calls and memory accesses: changes nothing else */
    bool declares;             /* that it is so; false: the contract is the usual one */
    struct target_stats shown; /* the last time */
    uint64_t look_count;       /* how often the counters were shown */
};

void first_fit_ways_init(struct first_fit_ways *ways);
void first_fit_ways_declare(const struct first_fit_ways *ways, struct target_contract *contract);

/* Returns true when others of the process leave no room for so many bytes now. */
bool first_fit_is_taken(const struct first_fit_ways *ways, const struct first_fit_heap *heap,
                        uint64_t size_bytes);
/* Makes of the right counters those that are shown.  evicts: some request may evict. */
void first_fit_show(struct first_fit_ways *ways, const struct first_fit_heap *heap, bool evicts,
                    struct target_stats *stats);

#endif
