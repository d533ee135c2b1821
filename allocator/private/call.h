/* One request on its way to a place: what it demands, and what it was refused. */
#ifndef ALLOCATOR_PRIVATE_CALL_H
#define ALLOCATOR_PRIVATE_CALL_H

#include "allocator/private/plan.h"
#include "allocator/private/program.h"

/* One request on its way.  Created after the lock was taken; the lock is released while waiting. */
struct hbm_call {
    struct hbm *hbm;
    uint64_t serial;
    struct hbm_program *program; /* the one to load or execute; NULL: a buffer */
    struct hbm_demand demand;    /* stack_bytes: the program's own */
    bool image_only;             /* leave the stack out: for telling which part has no place */
    bool refused;                /* a service refused something that may have been needed */
};

struct hbm_call hbm_call_begin(struct hbm *hbm, struct hbm_program *program);

/* Reads again what the program lacks: while the lock was released it may have been loaded or
 * evicted by other threads. */
void hbm_call_refresh(struct hbm_call *call);

/* The stack that the call needs: at least what is reserved. */
uint64_t hbm_call_stack_wanted(const struct hbm_call *call);

/* Returns true for a program loaded, idle, not pinned, its eviction not refused in this call. */
bool hbm_call_may_evict(const struct hbm_call *call, const struct hbm_program *program);

#endif
