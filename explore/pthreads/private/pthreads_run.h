/* Our pthread functions share this within one run: the threads and the waiters of its lanes, and
 * how they come to a step. */
#ifndef EXPLORE_PTHREADS_PRIVATE_PTHREADS_RUN_H
#define EXPLORE_PTHREADS_PRIVATE_PTHREADS_RUN_H

#include "explore/scheduler.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

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

/* The functions that ours stand in front of, found when they are first called. */

enum real_name {
#define FUNCTION(name) REAL_##name,
#include "explore/pthreads/list.h"
#undef FUNCTION
    REAL_COUNT
};

extern _Atomic(void *) real_table[REAL_COUNT];
/* Ends the process when the C library has no such function. */
void *real_resolve(enum real_name name);

/* Safe at any time, before constructors, too: all threads find the same. */
static inline void *real_function(enum real_name name)
{
    void *function = atomic_load_explicit(&real_table[name], memory_order_relaxed);
    return function != NULL ? function : real_resolve(name);
}

/* The real function of that name, with its type. */
#define REAL(name) ((__typeof__(&(name)))real_function(REAL_##name))

/* Marks a function that the code under test calls instead of the real one.  Its return address is
 * the place of the step, so it must never become part of its caller. */
#define INTERPOSED __attribute__((visibility("default"), noinline, used))
/* The place of the step, in such a function. */
#define PLACE __builtin_return_address(0)

/* Defines such a function.  Outside of a run it is the real one; in a run its result is that of the
 * expression at the end, which may name the scheduler of the run. */
#define INTERPOSE(type, name, parameters, arguments, ...)                \
    INTERPOSED type name parameters                                      \
    {                                                                    \
        struct scheduler *scheduler = scheduler_current();               \
        return scheduler == NULL ? REAL(name) arguments : (__VA_ARGS__); \
    }
/* Another one: it is the real one, before which the expression at the end is evaluated in a run. */
#define INTERPOSE_BEFORE(type, name, parameters, arguments, ...) \
    INTERPOSED type name parameters                              \
    {                                                            \
        struct scheduler *scheduler = scheduler_current();       \
        if (scheduler != NULL) {                                 \
            __VA_ARGS__;                                         \
        }                                                        \
        return REAL(name) arguments;                             \
    }

/* The threads of C11 are those of POSIX under other names: glibc's mtx_t is a pthread_mutex_t,
 * cnd_t a pthread_cond_t, once_flag a pthread_once_t, thrd_t a pthread_t and tss_t a pthread_key_t.
 * Only results and the types of a thread's routine differ. */

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_lock() takes a mutex of pthreads");
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_wait() takes a condition of pthreads");
static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "call_once() takes a once of pthreads");
static_assert(sizeof(thrd_t) == sizeof(pthread_t), "thrd_join() takes an id of pthreads");
static_assert(sizeof(tss_t) == sizeof(pthread_key_t), "tss_get() takes a key of pthreads");

/* The result for an error of pthreads, as glibc has it. */
static inline int c11_result(int error)
{
    switch (error) {
    case 0:
        return thrd_success;
    case ENOMEM:
        return thrd_nomem;
    case ETIMEDOUT:
        return thrd_timedout;
    case EBUSY:
        return thrd_busy;
    default:
        return thrd_error;
    }
}

/* One symbol of each file that defines pthread functions: who refers to it has the file in the
 * program, even where a shared object that comes first (a sanitizer's) defines the same functions.
 */

extern const char pthreads_link_mutex, pthreads_link_rwlock, pthreads_link_semaphore,
    pthreads_link_thread, pthreads_link_key, pthreads_link_time;

/* pthreads_link() was called. */
bool pthreads_are_linked(void);

/* The ids of lanes as threads. */

/* A real id is an address of the C library's, and no address is this small. */
enum { THREAD_ID_FIRST = 0x1A00 };

static inline pthread_t thread_id(uint8_t lane)
{
    return (pthread_t)THREAD_ID_FIRST + lane;
}

static inline bool thread_id_is_lane(pthread_t id)
{
    return id >= THREAD_ID_FIRST && id < (pthread_t)THREAD_ID_FIRST + LANE_COUNT_MAX;
}

/* False: no lane of this run.  True: *lane is set. */
static inline bool thread_id_find(const struct scheduler *scheduler, pthread_t id, uint8_t *lane)
{
    if (!thread_id_is_lane(id) || id - THREAD_ID_FIRST >= scheduler_lane_count(scheduler)) {
        return false;
    }
    *lane = (uint8_t)(id - THREAD_ID_FIRST);
    return true;
}

#endif
