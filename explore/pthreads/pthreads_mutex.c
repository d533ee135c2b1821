#include "explore/pthreads/private/pthreads_run.h"

#include <errno.h>

const char pthreads_link_mutex = 1;

/* glibc keeps the type of a mutex in these bits of `kind`, and makes it negative when the mutex is
 * destroyed. */
enum { TYPE_MASK = 3 };

static int read_mutex_type(const pthread_mutex_t *mutex)
{
    return mutex->__data.__kind & TYPE_MASK;
}

static bool is_mutex_normal(const pthread_mutex_t *mutex)
{
    return read_mutex_type(mutex) != PTHREAD_MUTEX_RECURSIVE &&
           read_mutex_type(mutex) != PTHREAD_MUTEX_ERRORCHECK;
}

static struct object *find_mutex(struct scheduler *scheduler, const pthread_mutex_t *mutex,
                                 const void *place)
{
    struct object *object = scheduler_object(scheduler, mutex, "mutex");
    if (mutex->__data.__kind < 0) {
        pthreads_misuse(scheduler, object, "uses, after it was destroyed,", place);
    }
    return object;
}

/* The sanitizer of threads knows locks by the real mutex, which is free when the model says so; but
 * a run that was given up may have left it locked: then this run does without it (`gate` is 1). */
static void lock_real_mutex(struct object *object, pthread_mutex_t *mutex)
{
#ifdef EXPLORE_REAL_LOCKS
    object->gate |= object->gate != 0 || REAL(pthread_mutex_trylock)(mutex) != 0;
#else
    (void)object;
    (void)mutex;
#endif
}

static void unlock_real_mutex(const struct object *object, pthread_mutex_t *mutex)
{
#ifdef EXPLORE_REAL_LOCKS
    if (object->gate == 0) {
        REAL(pthread_mutex_unlock)(mutex);
    }
#else
    (void)object;
    (void)mutex;
#endif
}

static void take_mutex(struct scheduler *scheduler, struct object *object, pthread_mutex_t *mutex,
                       const void *place)
{
    lock_real_mutex(object, mutex);
    if (object->holder != 0) {
        object->count++;
        return;
    }
    object->holder = self_holder(scheduler);
    object->held_since = place;
    object->count = 1;
    pthreads_acquire(scheduler, mutex);
}

/* deadline_ns 0: waits for ever.
 *
 * A step that may find the mutex held and go on all the same depends on each release of it.  One
 * kind of release, that of a wait, is a step on the condition variable; so this step says that it
 * may touch anything. */
static int lock_mutex(struct scheduler *scheduler, pthread_mutex_t *mutex, uint64_t deadline_ns,
                      const void *place)
{
    struct object *object = find_mutex(scheduler, mutex, place);
    const bool is_mine = object->holder == self_holder(scheduler);
    const bool may_relock = is_mine && !is_mutex_normal(mutex);
    const struct step step = {.kind = STEP_LOCK,
                              .object = deadline_ns == 0 ? mutex : NULL,
                              .gate = may_relock ? NULL : &object->holder,
                              .deadline_ns = deadline_ns,
                              .place = place};
    if (pthreads_step(scheduler, object, &step) == STEP_TIMED_OUT) {
        return ETIMEDOUT;
    }
    if (is_mine && read_mutex_type(mutex) == PTHREAD_MUTEX_ERRORCHECK) {
        return EDEADLK;
    }
    take_mutex(scheduler, object, mutex, place);
    return 0;
}

static int try_lock_mutex(struct scheduler *scheduler, pthread_mutex_t *mutex, const void *place)
{
    struct object *object = find_mutex(scheduler, mutex, place);
    pthreads_step(scheduler, object, &(struct step){.kind = STEP_TRY_LOCK, .place = place});
    const bool is_mine = object->holder == self_holder(scheduler);
    if (object->holder != 0 && !(is_mine && read_mutex_type(mutex) == PTHREAD_MUTEX_RECURSIVE)) {
        return EBUSY;
    }
    take_mutex(scheduler, object, mutex, place);
    return 0;
}

static int lock_mutex_until(struct scheduler *scheduler, pthread_mutex_t *mutex,
                            const struct timespec *time, const void *place)
{
    uint64_t deadline_ns;
    if (!time_parse(time, &deadline_ns)) {
        const int result = try_lock_mutex(scheduler, mutex,
                                          place); /* who need not wait does not look at the time */
        return result == EBUSY ? EINVAL : result;
    }
    return lock_mutex(scheduler, mutex, deadline_ns, place);
}

/* Gives the mutex back without a step.  0, or the error of an unlock by who does not hold it. */
static int leave_mutex(struct scheduler *scheduler, pthread_mutex_t *mutex, const void *place)
{
    struct object *object = find_mutex(scheduler, mutex, place);
    if (object->holder != self_holder(scheduler)) {
        if (!is_mutex_normal(mutex)) {
            return EPERM;
        }
        pthreads_misuse(scheduler, object, "unlocks, without holding it,", place);
    }
    unlock_real_mutex(object, mutex);
    if (--object->count == 0) {
        pthreads_release(scheduler, mutex);
        object->held_since = NULL;
        object->holder = 0;
    }
    return 0;
}

static int unlock_mutex(struct scheduler *scheduler, pthread_mutex_t *mutex, const void *place)
{
    find_mutex(scheduler, mutex, place);
    scheduler_step(scheduler, &(struct step){.kind = STEP_UNLOCK, .object = mutex, .place = place});
    return leave_mutex(scheduler, mutex, place);
}

static int destroy_mutex(struct scheduler *scheduler, pthread_mutex_t *mutex, const void *place)
{
    pthreads_end(scheduler, find_mutex(scheduler, mutex, place), &(struct ending){.place = place});
    return REAL(pthread_mutex_destroy)(mutex);
}

/* Memory that was a mutex before, and was never destroyed, is another one now. */
static void begin_mutex_step(struct scheduler *scheduler, const pthread_mutex_t *mutex,
                             const void *place)
{
    struct object *object = scheduler_object(scheduler, mutex, "mutex");
    pthreads_begin(scheduler, object, place);
    object->holder = object->count = object->gate = 0;
}

/* --- what the code under test calls --- */

INTERPOSE_BEFORE(int, pthread_mutex_init,
                 (pthread_mutex_t * mutex, const pthread_mutexattr_t *attributes),
                 (mutex, attributes), begin_mutex_step(scheduler, mutex, PLACE))

INTERPOSE(int, pthread_mutex_destroy, (pthread_mutex_t * mutex), (mutex),
          destroy_mutex(scheduler, mutex, PLACE))

INTERPOSE(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex),
          lock_mutex(scheduler, mutex, 0, PLACE))

INTERPOSE(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex),
          try_lock_mutex(scheduler, mutex, PLACE))

INTERPOSE(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const struct timespec *time),
          (mutex, time), lock_mutex_until(scheduler, mutex, time, PLACE))

INTERPOSE(int, pthread_mutex_clocklock,
          (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *time),
          (mutex, clock, time), lock_mutex_until(scheduler, mutex, time, PLACE))

INTERPOSE(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex),
          unlock_mutex(scheduler, mutex, PLACE))

/* --- the same of C11 --- */

static pthread_mutex_t *mutex_of_c11(mtx_t *mutex)
{
    return (pthread_mutex_t *)(void *)mutex;
}

INTERPOSE_BEFORE(int, mtx_init, (mtx_t * mutex, int type), (mutex, type),
                 begin_mutex_step(scheduler, mutex_of_c11(mutex), PLACE))

INTERPOSED void mtx_destroy(mtx_t *mutex)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        REAL(mtx_destroy)(mutex);
        return;
    }
    (void)destroy_mutex(scheduler, mutex_of_c11(mutex), PLACE);
}

INTERPOSE(int, mtx_lock, (mtx_t * mutex), (mutex),
          c11_result(lock_mutex(scheduler, mutex_of_c11(mutex), 0, PLACE)))

INTERPOSE(int, mtx_trylock, (mtx_t * mutex), (mutex),
          c11_result(try_lock_mutex(scheduler, mutex_of_c11(mutex), PLACE)))

INTERPOSE(int, mtx_timedlock, (mtx_t *restrict mutex, const struct timespec *restrict time),
          (mutex, time), c11_result(lock_mutex_until(scheduler, mutex_of_c11(mutex), time, PLACE)))

INTERPOSE(int, mtx_unlock, (mtx_t * mutex), (mutex),
          c11_result(unlock_mutex(scheduler, mutex_of_c11(mutex), PLACE)))

/* The object's count: lanes that wait and were not woken. */
static struct object *find_condition(struct scheduler *scheduler, const pthread_cond_t *condition)
{
    return scheduler_object(scheduler, condition, "condition variable");
}

struct mutex_wait {
    pthread_cond_t *condition;
    pthread_mutex_t *mutex;
    uint64_t deadline_ns; /* 0: none */
    const void *place;
};

/* From giving the mutex back until woken is one step: nobody comes between.  Who is woken for no
 * reason, or by the time-out, is no waiter any more. */
static int await_signal(struct scheduler *scheduler, const struct mutex_wait *wait)
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

static int wait_on_condition(struct scheduler *scheduler, const struct mutex_wait *wait)
{
    pthreads_step(
        scheduler, find_condition(scheduler, wait->condition),
        &(struct step){.kind = STEP_COND_WAIT, .object = wait->condition, .place = wait->place});
    const int error = leave_mutex(scheduler, wait->mutex, wait->place);
    if (error != 0) {
        return error;
    }
    const int result = await_signal(scheduler, wait);
    const int lock_error = lock_mutex(scheduler, wait->mutex, 0, wait->place);
    return lock_error != 0 ? lock_error : result;
}

static int wait_on_condition_until(struct scheduler *scheduler, struct mutex_wait *wait,
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
          wait_on_condition(scheduler, &(struct mutex_wait){condition, mutex, 0, PLACE}))

INTERPOSE(int, pthread_cond_timedwait,
          (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *time),
          (condition, mutex, time),
          wait_on_condition_until(scheduler, &(struct mutex_wait){condition, mutex, 0, PLACE},
                                  time))

INTERPOSE(int, pthread_cond_clockwait,
          (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock,
           const struct timespec *time),
          (condition, mutex, clock, time),
          wait_on_condition_until(scheduler, &(struct mutex_wait){condition, mutex, 0, PLACE},
                                  time))

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
                                       &(struct mutex_wait){condition_of_c11(condition),
                                                            mutex_of_c11(mutex), 0, PLACE})))

INTERPOSE(int, cnd_timedwait,
          (cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict time),
          (condition, mutex, time),
          c11_result(wait_on_condition_until(scheduler,
                                             &(struct mutex_wait){condition_of_c11(condition),
                                                                  (pthread_mutex_t *)(void *)mutex,
                                                                  0, PLACE},
                                             time)))

INTERPOSE(int, cnd_signal, (cnd_t * condition), (condition),
          c11_result(wake_waiters(scheduler, condition_of_c11(condition), 1, PLACE)))

INTERPOSE(int, cnd_broadcast, (cnd_t * condition), (condition),
          c11_result(wake_waiters(scheduler, condition_of_c11(condition), LANE_COUNT_MAX, PLACE)))
