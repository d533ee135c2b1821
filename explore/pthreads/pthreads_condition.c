#include "explore/pthreads/private/pthreads_c11.h"
#include "explore/pthreads/private/pthreads_link.h"
#include "explore/pthreads/private/pthreads_mutex.h"
#include "explore/pthreads/private/pthreads_real.h"
#include "explore/pthreads/private/pthreads_run.h"

#include <errno.h>

const char pthreads_link_condition = 1;

/* The object's count: lanes that wait and were not woken. */
static struct object *find_condition(struct scheduler *scheduler, const pthread_cond_t *condition)
{
    return scheduler_object(scheduler, condition, "condition variable");
}

struct wait {
    pthread_cond_t *condition;
    pthread_mutex_t *mutex;
    uint64_t deadline_ns; /* 0: none */
    const void *place;
};

/* From giving the mutex back until woken is one step: nobody comes between.  Who is woken for no
 * reason, or by the time-out, is no waiter any more. */
static int await_signal(struct scheduler *scheduler, const struct wait *wait)
{
    struct object *object = find_condition(scheduler, wait->condition);
    struct waiter *waiter = waiter_begin(scheduler, wait->condition);
    object->count++;
    const enum step_result result = scheduler_step(scheduler,
                                                   &(struct step){.kind = STEP_COND_WAIT,
                                                                  .object = wait->condition,
                                                                  .gate = &waiter->gate,
                                                                  .deadline_ns = wait->deadline_ns,
                                                                  .place = wait->place});
    if (waiter_end(waiter)) {
        pthreads_acquire(scheduler, wait->condition);
    } else {
        object->count--;
    }
    return result == STEP_TIMED_OUT ? ETIMEDOUT : 0;
}

static int wait_on_condition(struct scheduler *scheduler, const struct wait *wait)
{
    pthreads_step(
        scheduler, find_condition(scheduler, wait->condition),
        &(struct step){.kind = STEP_COND_WAIT, .object = wait->condition, .place = wait->place});
    const int error = mutex_leave(scheduler, wait->mutex, wait->place);
    if (error != 0) {
        return error;
    }
    const int result = await_signal(scheduler, wait);
    const int lock_error = mutex_enter(scheduler, wait->mutex, wait->place);
    return lock_error != 0 ? lock_error : result;
}

static int wait_on_condition_until(struct scheduler *scheduler, struct wait *wait,
                                   const struct timespec *time)
{
    if (!time_parse(time, &wait->deadline_ns)) {
        return EINVAL;
    }
    return wait_on_condition(scheduler, wait);
}

/* wake_count: at most so many. */
static int wake_waiters(struct scheduler *scheduler, pthread_cond_t *condition, uint32_t wake_count,
                        const void *place)
{
    struct object *object = find_condition(scheduler, condition);
    pthreads_step(scheduler, object,
                  &(struct step){.kind = STEP_SIGNAL, .object = condition, .place = place});
    pthreads_release(scheduler, condition);
    while (wake_count-- > 0 && waiter_wake(scheduler, condition)) {
        object->count--;
    }
    return 0;
}

static void begin_condition(struct scheduler *scheduler, const pthread_cond_t *condition,
                            const void *place)
{
    const struct object *object = find_condition(scheduler, condition);
    pthreads_begin(scheduler, object, place);
    if (object->count != 0) {
        pthreads_misuse(scheduler, object, "initialises, while another lane is in a call on it,",
                        place);
    }
}

static void end_condition(struct scheduler *scheduler, const pthread_cond_t *condition,
                          const void *place)
{
    pthreads_end(scheduler, find_condition(scheduler, condition),
                 &(struct ending){.place = place, .is_counted = true});
}

/* --- what the code under test calls --- */

INTERPOSE_BEFORE(int, pthread_cond_init,
                 (pthread_cond_t * condition, const pthread_condattr_t *attributes),
                 (condition, attributes), begin_condition(scheduler, condition, PLACE))

INTERPOSE_BEFORE(int, pthread_cond_destroy, (pthread_cond_t * condition), (condition),
                 end_condition(scheduler, condition, PLACE))

INTERPOSE(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex),
          (condition, mutex),
          wait_on_condition(scheduler, &(struct wait){condition, mutex, 0, PLACE}))

INTERPOSE(int, pthread_cond_timedwait,
          (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *time),
          (condition, mutex, time),
          wait_on_condition_until(scheduler, &(struct wait){condition, mutex, 0, PLACE}, time))

INTERPOSE(int, pthread_cond_clockwait,
          (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock,
           const struct timespec *time),
          (condition, mutex, clock, time),
          wait_on_condition_until(scheduler, &(struct wait){condition, mutex, 0, PLACE}, time))

INTERPOSE(int, pthread_cond_signal, (pthread_cond_t * condition), (condition),
          wake_waiters(scheduler, condition, 1, PLACE))

INTERPOSE(int, pthread_cond_broadcast, (pthread_cond_t * condition), (condition),
          wake_waiters(scheduler, condition, LANE_COUNT_MAX, PLACE))

/* --- the same of C11 --- */

static pthread_cond_t *condition_of_c11(cnd_t *condition)
{
    return (pthread_cond_t *)(void *)condition;
}

INTERPOSE_BEFORE(int, cnd_init, (cnd_t * condition), (condition),
                 begin_condition(scheduler, condition_of_c11(condition), PLACE))

INTERPOSED void cnd_destroy(cnd_t *condition)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler != NULL) {
        end_condition(scheduler, condition_of_c11(condition), PLACE);
    }
    REAL(cnd_destroy)(condition);
}

INTERPOSE(int, cnd_wait, (cnd_t * condition, mtx_t *mutex), (condition, mutex),
          c11_result(wait_on_condition(scheduler,
                                       &(struct wait){condition_of_c11(condition),
                                                      (pthread_mutex_t *)(void *)mutex, 0, PLACE})))

INTERPOSE(int, cnd_timedwait,
          (cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict time),
          (condition, mutex, time),
          c11_result(wait_on_condition_until(scheduler,
                                             &(struct wait){condition_of_c11(condition),
                                                            (pthread_mutex_t *)(void *)mutex, 0,
                                                            PLACE},
                                             time)))

INTERPOSE(int, cnd_signal, (cnd_t * condition), (condition),
          c11_result(wake_waiters(scheduler, condition_of_c11(condition), 1, PLACE)))

INTERPOSE(int, cnd_broadcast, (cnd_t * condition), (condition),
          c11_result(wake_waiters(scheduler, condition_of_c11(condition), LANE_COUNT_MAX, PLACE)))
