/* Carries out a plan: copies block by block, by way of a hole or the host where places overlap. */
#ifndef ALLOCATOR_PRIVATE_MOVES_H
#define ALLOCATOR_PRIVATE_MOVES_H

#include "allocator/private/plan.h"
#include "allocator/private/state.h"

/* True: every block is at its target.  False: a service refused; each block is where it was, at its
 * target, or stranded. */
bool hbm_moves_run(struct hbm *hbm, const struct hbm_plan *plan);

#endif
