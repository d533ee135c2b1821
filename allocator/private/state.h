/* The body of struct hbm and what its parts know of each other. */
#ifndef ALLOCATOR_PRIVATE_STATE_H
#define ALLOCATOR_PRIVATE_STATE_H

#include "allocator/private/heap.h"
#include "allocator/private/lock.h"
#include "allocator/private/pending.h"
#include "allocator/private/plan.h"
#include "allocator/private/resume.h"
#include "allocator/private/shapes.h"

/* One program.  Invariant: block is 0 exactly when it is evicted; it is busy exactly when its block
 * has uses. */
struct hbm_program {
    struct hbm_program *previous; /* in the order of last use, least recently used first */
    struct hbm_program *next;
    uint64_t id;
    uint64_t image_bytes;
    uint64_t stack_bytes;
    /* the call in which its eviction was refused; asked again in the next */
    uint64_t refused_in_call;
    uint32_t block;
    uint32_t pin_count; /* calls that need it loaded: not evictable meanwhile */
    bool unloading;     /* freed with its dying block */
    char name[];
};

/* A block whose contents are on the host because a move could not be finished. */
struct hbm_stranded {
    struct hbm_stranded *next;
    uint64_t token;
    uint32_t block;
};

struct hbm {
    struct hbm_lock lock; /* guards all that follows */
    struct hbm_host host;
    struct hbm_options options;
    struct hbm_heap heap;
    struct hbm_pending pending;
    struct hbm_shapes shapes;
    struct hbm_program *program_first;
    struct hbm_program *program_last;
    struct hbm_stranded *stranded;
    bool return_refused; /* a service refused what the last attempt to bring a stranded block back
                            needed */
    struct hbm_stats totals; /* the fields that are history: peaks, largest_alloc_size, ... */
    uint64_t call_count;
    uint64_t room_count; /* grows when a block ends or moves, and when a hold or a pin that kept one
                            in place does */
    uint32_t dying_count;
    uint32_t dying_order; /* given to the next block that dies */
};

/* ---- life of a block (life.c) ---- */

/* Tries to bring stranded blocks back, by way of moves if there is no hole. */
void hbm_stranded_retry(struct hbm *hbm);

void hbm_collect_completed(struct hbm *hbm);

/* Collects completed events; called first in every public call that only reads, with the lock held.
 */
static inline void hbm_collect_events(struct hbm *hbm)
{
    if (hbm->pending.first != HBM_POOL_NONE) {
        hbm_collect_completed(hbm);
    }
}

/* The same in every other public call, which brings stranded blocks back, too. */
static inline void hbm_collect(struct hbm *hbm)
{
    hbm_collect_events(hbm);
    hbm->return_refused = false;
    if (__builtin_expect(hbm->stranded != NULL, 0)) {
        hbm_stranded_retry(hbm);
    }
}

static inline bool hbm_block_is_stranded(const struct hbm_block *block)
{
    return block->place == HBM_PLACE_HOST;
}

static inline bool hbm_block_is_movable(const struct hbm_block *block)
{
    return !block->dying && block->used.hold_count == 0 && block->used.use_count == 0 &&
           block->role != HBM_ROLE_RETIRED && !hbm_block_is_stranded(block);
}

/* What the caller sees. */
static inline uint64_t hbm_block_address(const struct hbm_block *block)
{
    return hbm_block_is_stranded(block) ? HBM_ADDRESS_NONE : block->address;
}

/* Frees a live block: at once, or when it is no longer held. */
void hbm_block_free(struct hbm *hbm, uint32_t number);

/* Ends a dying block that nothing holds any more. */
void hbm_block_settle(struct hbm *hbm, uint32_t number);

/* The stack that busy programs need. */
uint64_t hbm_stack_needed(const struct hbm *hbm);

/* Raises peaks to the present state. */
void hbm_peaks_note(struct hbm *hbm);

/* The largest stack that could be reserved now, by the contract. */
uint64_t hbm_reservable(const struct hbm *hbm);

static inline uint64_t hbm_free_bytes(const struct hbm *hbm)
{
    return hbm->options.capacity_bytes - hbm->heap.used_bytes - hbm_heap_reserved(&hbm->heap);
}

/* ---- program list (program.c) ---- */

void hbm_program_list_remove(struct hbm *hbm, struct hbm_program *program);
void hbm_program_destroy(struct hbm *hbm, struct hbm_program *program);

/* ---- moving (moves.c) ---- */

/* Carries out a plan.  True: every block is at its target.  False: a service refused; each block is
 * where it was, at its target, or stranded. */
bool hbm_moves_run(struct hbm *hbm, const struct hbm_plan *plan);

/* Fills a plan with the blocks as they are; without_idle leaves out what could be evicted on behalf
 * of `call` (NULL: nothing).  The items are freed with hbm_snapshot_free.  False: no host memory.
 */
struct hbm_call;
bool hbm_snapshot(struct hbm *hbm, const struct hbm_call *evicting, struct hbm_plan *plan);
void hbm_snapshot_free(struct hbm *hbm, struct hbm_plan *plan);

/* ---- mitigation (mitigate.c) ---- */

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

/* Makes the demand fit.  HBM_OK: *number is the new block (0 when none was demanded), role not yet
 * set, and the stack is raised to what the demand needs.  Any failure leaves blocks and stack
 * alone. */
enum hbm_result hbm_place(struct hbm_call *call, uint32_t *number);

/* Whether a program is loaded, idle, not pinned, and its eviction not refused in this call. */
bool hbm_call_may_evict(const struct hbm_call *call, const struct hbm_program *program);

/* Moves blocks so that a stranded one has a hole.  HBM_NO_MEMORY: no moves would do. */
enum hbm_result hbm_room_make(struct hbm *hbm, uint32_t number);

/* Collects events.  Whether any completed since pending.completed_seen was `seen`: what did not fit
 * may fit now. */
bool hbm_completed_since(struct hbm *hbm, uint64_t seen);

/* Whether the demand would fit, by the contract, now or (without_idle) when all that may be evicted
 * is gone. */
bool hbm_call_could_fit(struct hbm_call *call, bool without_idle);

/* ---- buffers inside a larger call (buffer.c) ---- */

enum hbm_result hbm_request_check(const struct hbm *hbm, const struct hbm_request *request);

/* Allocates; peaks are not noted; the error text is set on failure. */
enum hbm_result hbm_buffer_take(struct hbm *hbm, const struct hbm_request *request,
                                uint32_t *number);

/* Gives a block that was just taken back, as if it had never been. */
void hbm_buffer_untake(struct hbm *hbm, uint32_t number);

/* Lets a request take over a block in place; cannot fail once the shape is interned. */
void hbm_buffer_become(struct hbm *hbm, struct hbm_block *block, const struct hbm_request *request,
                       uint32_t shape);

/* Whether a donation of this block to this request is possible; the error text is set if not. */
enum hbm_result hbm_donation_check(const struct hbm *hbm, const struct hbm_block *block,
                                   const struct hbm_request *request);

/* ---- loading inside a larger call (program.c) ---- */

/* Loads if needed, raises the stack to what the program needs, and makes room for use_count uses.
 * Text set on failure, and nothing changed. */
enum hbm_result hbm_program_prepare(struct hbm *hbm, struct hbm_program *program,
                                    uint32_t use_count);

/* The stack falls back to what busy programs need. */
void hbm_stack_settle(struct hbm *hbm);

/* Makes the program busy until the event; room in pending is reserved. */
void hbm_program_start(struct hbm *hbm, struct hbm_program *program, uint64_t event);

/* ---- failures (failure.c) ---- */

/* Each sets this thread's failure and returns the matching result.  The state is read now. */
enum hbm_result hbm_fail_memory(struct hbm *hbm, enum hbm_failure_form form,
                                uint64_t requested_bytes, const char *name);
enum hbm_result hbm_fail_invalid(const struct hbm *hbm, const char *text);
enum hbm_result hbm_fail_unavailable(const struct hbm *hbm, const char *text);

/* The report with the lock already held. */
void hbm_report_print_locked(struct hbm *hbm, const struct hbm_sink *sink);

#endif
