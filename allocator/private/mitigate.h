/* Tries these before an out-of-memory: drain, defragment and evict, in the configured order. */
#ifndef ALLOCATOR_PRIVATE_MITIGATE_H
#define ALLOCATOR_PRIVATE_MITIGATE_H

#include "allocator/private/call.h"

/* Makes the demand fit.  HBM_OK: *number is the new block (0 when none was demanded), role not yet
 * set, and the stack is raised to what the demand needs.  Any failure leaves blocks and stack
 * alone. */
enum hbm_result hbm_place(struct hbm_call *call, uint32_t *number);

/* Collects events.  Whether any completed since pending.completed_seen was `seen`: what did not fit
 * may fit now. */
bool hbm_completed_since(struct hbm *hbm, uint64_t seen);

#endif
