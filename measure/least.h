/* The smallest device on which a target serves an op list, found by running it. */
#ifndef MEASURE_LEAST_H
#define MEASURE_LEAST_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"
#include "measure/smallest.h"

/* Runs the list on devices from from_bytes (a lower bound, at least 1) to 8 times that, and no more
 * than one in 128 of it below the one that is found.  setup is that of the list; its capacity plays
 * no part.  served_bytes: a capacity that is known to serve the list, so that no larger one is
 * tried; 0 = none is known.  In this process: the target may take it along.  16 runs at most. */
struct smallest least_capacity_find(const struct target *target, const struct setup *setup,
                                    const struct op_list *ops, uint64_t from_bytes,
                                    uint64_t served_bytes);

#endif
