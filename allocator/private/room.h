/* Plans which blocks must move so that a call, or a stranded block, has a place. */
#ifndef ALLOCATOR_PRIVATE_ROOM_H
#define ALLOCATOR_PRIVATE_ROOM_H

#include "allocator/private/call.h"

/* False: what is free comes to less than the call demands, wherever it is.  O(1). */
bool hbm_call_may_fit(struct hbm_call *call);

/* Starts a plan for the call; without_idle leaves out what could be evicted.  False: no host
 * memory, which the call remembers as a refusal.  Ended with hbm_snapshot_free. */
bool hbm_room_begin(struct hbm_call *call, bool without_idle, struct hbm_plan *plan);

/* The cheapest plan that the contract allows; false when it finds none. */
bool hbm_room_plan(const struct hbm *hbm, struct hbm_plan *plan);

/* Returns true when the demand would fit, by the contract, now or (without_idle) when all that may
 * be evicted is gone. */
bool hbm_call_could_fit(struct hbm_call *call, bool without_idle);

/* Moves blocks so that a stranded one has a hole.  HBM_NO_MEMORY: no moves would do. */
enum hbm_result hbm_room_make(struct hbm *hbm, uint32_t number);

#endif
