/* Deals a list that was run by one client to several lanes. */
#ifndef HARNESS_LANES_DEAL_H
#define HARNESS_LANES_DEAL_H

#include "harness/base/random.h"
#include "harness/op/op.h"

/* The ops of the list's beginning stay with lane 0: they bring the device to where it is worth
 * looking.  Those of its end (8..48, at most half of the list) are dealt to lane_count lanes
 * (2..16): an op often goes to the lane of the op before it, so that lanes have something of their
 * own; one that asks again always does.  Retirements are taken out: what is free depends on the
 * schedule. */
void deal(struct op_list *ops, uint8_t lane_count, struct random *random);

#endif
