/* The largest request that a target serves in the middle of a list, found by asking. */
#ifndef MEASURE_ROOM_H
#define MEASURE_ROOM_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"

/* Runs the list up to op `last`, then asks for blocks and frees each at once: the largest size, in
 * granules, that a bisection finds served (a larger one may be, too: what is served is not monotone
 * in the size).  False: the target did not get there, or broke a promise.  In this process. */
bool room_measure(const struct target *target, const struct setup *setup, const struct op_list *ops,
                  uint32_t last, uint64_t *bytes);

#endif
