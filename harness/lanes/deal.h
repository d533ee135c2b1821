/* Deals a list that was run by one client to several lanes. */
#ifndef HARNESS_LANES_DEAL_H
#define HARNESS_LANES_DEAL_H

#include "harness/base/random.h"
#include "harness/op/op.h"
#include "harness/op/setup.h"

/* True if ops of the kind run while one client calls, and no lanes: memory goes bad, the target
 * sleeps, or it records. */
bool deal_is_for_one(enum op_kind kind);

/* The ops of the list's beginning stay with lane 0: they bring the device to where it is worth
 * looking.  Those of its end (8..48, at most half of the list) are dealt to lane_count lanes
 * (2..16): an op often goes to the lane of the op before it, so that lanes have something of their
 * own; one that asks again always does.  What is for one client alone is taken out.  The first op
 * that was dealt. */
size_t deal(struct op_list *ops, uint8_t lane_count, struct random *random);

/* After deal(), which gave back `first`: where the setup names clients, what a client asked for,
 * and what is done with what it got, is in a lane of that client; more clients than lanes share
 * them. O(ops). */
void deal_by_client(struct op_list *ops, size_t first, const struct setup *setup,
                    uint8_t lane_count);

#endif
