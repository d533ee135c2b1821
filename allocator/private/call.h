/* One request on its way to a place: what it demands, and the plans that make room for it. */
#ifndef ALLOCATOR_PRIVATE_CALL_H
#define ALLOCATOR_PRIVATE_CALL_H

#include "allocator/private/plan.h"
#include "allocator/private/program.h"

/* One request on its way to a place: what it demands, and what it was refused. */

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

/* The blocks of a device as items of a plan. */

/* Fills a plan with the blocks as they are; leaves out what could be evicted on behalf of
 * `evicting` (NULL: nothing).  The items are freed with hbm_snapshot_free.  False: no host memory.
 */
bool hbm_snapshot(struct hbm *hbm, const struct hbm_call *evicting, struct hbm_plan *plan);
void hbm_snapshot_free(struct hbm *hbm, struct hbm_plan *plan);

/* Plans which blocks must move so that a call, or a stranded block, has a place. */

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

/* Makes room in one window of neighbouring blocks: some go to holes elsewhere, the others close up.
 */

enum hbm_vacate_result {
    HBM_VACATE_DONE,    /* a hole that suits the demand is there */
    HBM_VACATE_NONE,    /* nothing moved: no window was found, which proves nothing */
    HBM_VACATE_REFUSED, /* a service refused; some blocks may have moved */
};

/* Moves blocks so that the call's block has a hole, at a cost that follows what moves.  A demand
 * for more stack, and a heap with stranded blocks, are left to a plan of all blocks.  Needs no host
 * memory but for records of holes. */
enum hbm_vacate_result hbm_vacate(struct hbm_call *call);

/* Tries these before an out-of-memory: drain, defragment and evict, in the configured order. */

/* Makes the demand fit.  HBM_OK: *number is the new block (0 when none was demanded), role not yet
 * set, and the stack is raised to what the demand needs.  Any failure leaves blocks and stack
 * alone. */
enum hbm_result hbm_place(struct hbm_call *call, uint32_t *number);

/* Collects events.  Whether any completed since pending.completed_seen was `seen`: what did not fit
 * may fit now. */
bool hbm_completed_since(struct hbm *hbm, uint64_t seen);

#endif
