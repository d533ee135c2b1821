/* The value of a semaphore is what its memory says: the real functions count, and only waiting is
 * the model's. */
#include "explore/private/check.h"
#include "explore/pthreads/private/pthreads_run.h"

#include <errno.h>
#include <string.h>

const char pthreads_link_semaphore = 1;

/* The gate is open while the value is above zero. */
static void set_semaphore_gate(struct object *object, sem_t *semaphore)
{
    int value = 0;
    REAL(sem_getvalue)(semaphore, &value);
    object->gate = value <= 0;
}

static struct object *find_semaphore(struct scheduler *scheduler, sem_t *semaphore)
{
    struct object *object = scheduler_object(scheduler, semaphore, "semaphore");
    set_semaphore_gate(object, semaphore);
    return object;
}

/* 0, or -1 with EAGAIN: the value is zero. */
static int take_semaphore(struct scheduler *scheduler, struct object *object, sem_t *semaphore)
{
    if (REAL(sem_trywait)(semaphore) != 0) {
        return -1;
    }
    set_semaphore_gate(object, semaphore);
    pthreads_acquire(scheduler, semaphore);
    return 0;
}

/* deadline_ns 0: waits for ever. */
static int await_semaphore(struct scheduler *scheduler, sem_t *semaphore, uint64_t deadline_ns,
                           const void *place)
{
    struct object *object = find_semaphore(scheduler, semaphore);
    const struct step step = {.kind = STEP_WAIT,
                              .object = semaphore,
                              .gate = &object->gate,
                              .deadline_ns = deadline_ns,
                              .place = place};
    do {
        if (pthreads_step(scheduler, object, &step) == STEP_TIMED_OUT) {
            errno = ETIMEDOUT;
            return -1;
        }
        set_semaphore_gate(object, semaphore);
    } while (take_semaphore(scheduler, object, semaphore) != 0);
    return 0;
}

static int await_semaphore_until(struct scheduler *scheduler, sem_t *semaphore,
                                 const struct timespec *time, const void *place)
{
    uint64_t deadline_ns;
    if (!time_parse(time, &deadline_ns)) {
        errno = EINVAL;
        return -1;
    }
    return await_semaphore(scheduler, semaphore, deadline_ns, place);
}

static int try_semaphore(struct scheduler *scheduler, sem_t *semaphore, const void *place)
{
    struct object *object = find_semaphore(scheduler, semaphore);
    pthreads_step(scheduler, object,
                  &(struct step){.kind = STEP_TRY_LOCK, .object = semaphore, .place = place});
    return take_semaphore(scheduler, object, semaphore);
}

static int post_semaphore(struct scheduler *scheduler, sem_t *semaphore, const void *place)
{
    struct object *object = find_semaphore(scheduler, semaphore);
    pthreads_step(scheduler, object,
                  &(struct step){.kind = STEP_POST, .object = semaphore, .place = place});
    pthreads_release(scheduler, semaphore);
    const int result = REAL(sem_post)(semaphore);
    set_semaphore_gate(object, semaphore);
    return result;
}

/* --- what the code under test calls --- */

INTERPOSE_BEFORE(int, sem_init, (sem_t * semaphore, int shared, unsigned value),
                 (semaphore, shared, value),
                 pthreads_begin(scheduler, scheduler_object(scheduler, semaphore, "semaphore"),
                                PLACE))

INTERPOSE_BEFORE(int, sem_destroy, (sem_t * semaphore), (semaphore),
                 pthreads_end(scheduler, find_semaphore(scheduler, semaphore),
                              &(struct ending){.place = PLACE}))

INTERPOSE(int, sem_wait, (sem_t * semaphore), (semaphore),
          await_semaphore(scheduler, semaphore, 0, PLACE))

INTERPOSE(int, sem_trywait, (sem_t * semaphore), (semaphore),
          try_semaphore(scheduler, semaphore, PLACE))

INTERPOSE(int, sem_timedwait, (sem_t * semaphore, const struct timespec *time), (semaphore, time),
          await_semaphore_until(scheduler, semaphore, time, PLACE))

INTERPOSE(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const struct timespec *time),
          (semaphore, clock, time), await_semaphore_until(scheduler, semaphore, time, PLACE))

INTERPOSE(int, sem_post, (sem_t * semaphore), (semaphore),
          post_semaphore(scheduler, semaphore, PLACE))

INTERPOSE_BEFORE(int, sem_getvalue, (sem_t * semaphore, int *value), (semaphore, value),
                 scheduler_step(scheduler, &(struct step){.kind = STEP_ATOMIC,
                                                          .object = semaphore,
                                                          .reads_only = true,
                                                          .place = PLACE}))

/* Barriers and pthread_once. */

/* --- barriers: count = lanes that have arrived in this round --- */

/* glibc's third word is how many have to arrive.  A barrier may have been made before the run. */
static uint32_t read_barrier_size(const pthread_barrier_t *barrier)
{
    uint32_t words[3];
    memcpy(words, barrier, sizeof words);
    return words[2];
}

static struct object *find_barrier(struct scheduler *scheduler, const pthread_barrier_t *barrier)
{
    return scheduler_object(scheduler, barrier, "barrier");
}

static int arrive_last_at_barrier(struct scheduler *scheduler, struct object *object,
                                  const pthread_barrier_t *barrier)
{
    while (waiter_wake(scheduler, barrier)) {
    }
    object->count = 0;
    pthreads_acquire(scheduler, barrier);
    return PTHREAD_BARRIER_SERIAL_THREAD;
}

static int arrive_at_barrier(struct scheduler *scheduler, const pthread_barrier_t *barrier,
                             const void *place)
{
    struct object *object = find_barrier(scheduler, barrier);
    pthreads_step(scheduler, object,
                  &(struct step){.kind = STEP_WAIT, .object = barrier, .place = place});
    pthreads_release(scheduler, barrier);
    if (++object->count >= read_barrier_size(barrier)) {
        return arrive_last_at_barrier(scheduler, object, barrier);
    }
    struct waiter *waiter = waiter_begin(scheduler, barrier);
    scheduler_step(scheduler, &(struct step){.kind = STEP_WAIT,
                                             .object = barrier,
                                             .gate = &waiter->gate,
                                             .place = place});
    EXPLORE_CHECK(waiter_end(waiter));
    pthreads_acquire(scheduler, barrier);
    return 0;
}

INTERPOSED int pthread_barrier_init(pthread_barrier_t *barrier,
                                    const pthread_barrierattr_t *attributes, unsigned count)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL) {
        const struct object *object = find_barrier(scheduler, barrier);
        if (object->detail != 0 || object->count != 0) {
            pthreads_misuse(scheduler, object, "initialises, while another lane waits at it,",
                            PLACE);
        }
    }
    const int error = REAL(pthread_barrier_init)(barrier, attributes, count);
    EXPLORE_CHECK(error != 0 || read_barrier_size(barrier) == count);
    return error;
}

INTERPOSE_BEFORE(int, pthread_barrier_destroy, (pthread_barrier_t * barrier), (barrier),
                 pthreads_end(scheduler, find_barrier(scheduler, barrier),
                              &(struct ending){.place = PLACE, .is_counted = true}))

INTERPOSE(int, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier),
          arrive_at_barrier(scheduler, barrier, PLACE))

/* --- once: the holder runs the routine --- */

static void do_nothing(void)
{
}

/* Runs a routine once for the process, as without us: the real object remembers it. */
static int pass_once(struct scheduler *scheduler, pthread_once_t *control, void (*routine)(void),
                     const void *place)
{
    struct object *object = scheduler_object(scheduler, control, "once");
    pthreads_step(
        scheduler, object,
        &(struct step){
            .kind = STEP_WAIT, .object = control, .gate = &object->holder, .place = place});
    if (*(const volatile pthread_once_t *)control != PTHREAD_ONCE_INIT) {
        pthreads_acquire(scheduler, control);
        return 0;
    }
    object->holder = self_holder(scheduler);
    object->held_since = place;
    routine();
    REAL(pthread_once)(control, do_nothing);
    pthreads_release(scheduler, control);
    object->held_since = NULL;
    object->holder = 0;
    return 0;
}

INTERPOSE(int, pthread_once, (pthread_once_t * control, void (*routine)(void)), (control, routine),
          pass_once(scheduler, control, routine, PLACE))

/* The same function of C11. */
INTERPOSED void call_once(once_flag *flag, void (*routine)(void))
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        REAL(call_once)(flag, routine);
        return;
    }
    (void)pass_once(scheduler, (pthread_once_t *)(void *)flag, routine, PLACE);
}
