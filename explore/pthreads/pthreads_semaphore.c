/* The value of a semaphore is what its memory says: the real functions count, and only waiting is
 * the model's. */
#include "explore/pthreads/private/pthreads_link.h"
#include "explore/pthreads/private/pthreads_real.h"
#include "explore/pthreads/private/pthreads_run.h"

#include <errno.h>

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
