/* Our pthread functions share this within one run: the threads and the waiters of its lanes, and
 * how they come to a step. */
#ifndef EXPLORE_PTHREADS_PRIVATE_PTHREADS_RUN_H
#define EXPLORE_PTHREADS_PRIVATE_PTHREADS_RUN_H

#include "explore/scheduler.h"

#include <limits.h>
#include <time.h>

/* A thread, one for each lane.  A client's lane has one, too. */
struct thread {
    void *(*routine)(void *argument);
    int (*c11_routine)(void *argument); /* instead of it; NULL: of a thread of pthreads */
    void *argument, *result;
    bool is_detached, is_joined;
};

/* A lane that waits until others open its gate. */
struct waiter {
    const void *object; /* what it waits at; NULL: nothing */
    uint32_t gate;
    uint64_t ticket; /* a lower one has waited longer */
};

/* The value of a key, in one lane.  NULL unless both numbers are the present ones. */
struct key_value {
    void *value;
    uint32_t run, key;
};

/* One for each scheduler, for the run it is in. */
struct pthreads_run {
    uint32_t number;
    uint64_t ticket_count;
    struct thread threads[LANE_COUNT_MAX];
    struct waiter waiters[LANE_COUNT_MAX];
    uint32_t key_ends[LANE_COUNT_MAX]; /* above the highest key that the lane has set */
    struct key_value values[LANE_COUNT_MAX][PTHREAD_KEYS_MAX];
};
/* Empty when the run is a new one. */
struct pthreads_run *pthreads_run_of(struct scheduler *scheduler);

/* The calling lane will wait at object with its gate closed. */
struct waiter *waiter_begin(struct scheduler *scheduler, const void *object);
/* Opens the gate of who has waited at object longest; false: nobody waits there. */
bool waiter_wake(struct scheduler *scheduler, const void *object);
/* It waits no longer.  True: it was woken. */
bool waiter_end(struct waiter *waiter);

/* A step that touches object.  While the lane stands at it the object counts a visitor in `detail`.
 */
enum step_result pthreads_step(struct scheduler *scheduler, struct object *object,
                               const struct step *step);

/* An object is made at its address: ends the run with SCHEDULER_MISUSE when another lane is in a
 * call on what was there before. */
void pthreads_begin(struct scheduler *scheduler, const struct object *object, const void *place);
/* A step that ends the object, which is forgotten then.  Ends the run with SCHEDULER_MISUSE when it
 * is held, visited, waited for (`count` when is_counted) or read (`gate` when is_gated). */
struct ending {
    const void *place;
    bool is_counted, is_gated;
};
void pthreads_end(struct scheduler *scheduler, const struct object *object,
                  const struct ending *ending);
/* "lane 1 DOES mutex #3 (held by lane 0), at PLACE". */
_Noreturn void pthreads_misuse(struct scheduler *scheduler, const struct object *object,
                               const char *does, const void *place);

/* Orders what the calling lane did before the release before what a lane does after the next
 * acquire. */
void pthreads_release(struct scheduler *scheduler, const void *address);
void pthreads_acquire(struct scheduler *scheduler, const void *address);

/* False: no time.  A time before all others is 1. */
bool time_parse(const struct timespec *time, uint64_t *time_ns);

/* lane + 1 of the caller, as in object.holder. */
static inline uint32_t self_holder(const struct scheduler *scheduler)
{
    return (uint32_t)scheduler_lane(scheduler) + 1;
}

#endif
