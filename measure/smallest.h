/* The smallest device that serves an op list, by bisection. */
#ifndef MEASURE_SMALLEST_H
#define MEASURE_SMALLEST_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"

#include <stdbool.h>
#include <stdint.h>

/* The range to search; bytes. */
struct smallest_search {
    uint64_t from_bytes;      /* nothing below it can serve the list; at least 1 */
    uint64_t to_bytes;        /* the largest that is tried */
    uint64_t step_bytes;      /* only multiples are tried; at least 1 */
    uint64_t precision_bytes; /* it ends when no untried capacity is further than this below the one
                                 that serves, or at one step */
    /* True if a device of that capacity serves the list.  *goes_on = false ends the search. */
    bool (*serves)(void *context, uint64_t capacity_bytes, bool *goes_on);
    void *context;
};

struct smallest {
    uint64_t bytes;     /* it was tried and serves the list; 0: none was found */
    uint32_t try_count; /* capacities that were tried */
    bool is_cut;        /* serves() ended the search */
};

/* Keeps from, to and step within what a target takes; from and step become at least 1. */
void smallest_keep_limits(struct smallest_search *search, const struct target_limits *limits);

/* Doubles the capacity until one serves, then halves the gap below it.  Less memory may by luck of
 * placement do where more did not, so a smaller capacity than the one found may serve, too.  At
 * most 64 + 64 tries. */
struct smallest smallest_find(const struct smallest_search *search);

/* The smallest device on which a target serves an op list, found by running it.
 * Runs the list on devices from from_bytes (a lower bound, at least 1) to 8 times that, and no more
 * than one in 128 of it below the one that is found.  setup is that of the list; its capacity plays
 * no part.  served_bytes: a capacity that is known to serve the list, so that no larger one is
 * tried; 0 = none is known.  In this process: the target may take it along.  16 runs at most. */
struct smallest least_capacity_find(const struct target *target, const struct setup *setup,
                                    const struct op_list *ops, uint64_t from_bytes,
                                    uint64_t served_bytes);

#endif
