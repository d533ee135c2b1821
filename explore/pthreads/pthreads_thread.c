#include "explore/order.h"
#include "explore/private/check.h"
#include "explore/pthreads/private/pthreads_run.h"
#include "explore/pthreads/pthreads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char pthreads_link_thread = 1;

/* --- create and exit --- */

_Noreturn static void end_thread(struct scheduler *scheduler, void *result)
{
    struct thread *thread = &pthreads_run_of(scheduler)->threads[scheduler_lane(scheduler)];
    pthreads_lane_end();
    thread->result = result;
    pthreads_release(scheduler, thread);
    scheduler_lane_exit(scheduler);
}

/* A result of C11 is an int: it travels as glibc's does. */
static void *result_of_c11(int result)
{
    return (void *)(uintptr_t)(unsigned)result;
}

static void run_thread(void *context)
{
    const struct thread *thread = context;
    struct scheduler *scheduler = scheduler_current();
    pthreads_acquire(scheduler, thread);
    end_thread(scheduler, thread->c11_routine != NULL
                              ? result_of_c11(thread->c11_routine(thread->argument))
                              : thread->routine(thread->argument));
}

static bool is_starting_detached(const pthread_attr_t *attributes)
{
    int state = PTHREAD_CREATE_JOINABLE;
    if (attributes != NULL) {
        pthread_attr_getdetachstate(attributes, &state);
    }
    return state == PTHREAD_CREATE_DETACHED;
}

/* The order of creations gives the lanes their numbers, so they do not commute: all touch the same
 * object. */
static int create_thread(struct scheduler *scheduler, pthread_t *id, const struct thread *thread,
                         const void *place)
{
    static const char creation;
    scheduler_object(scheduler, &creation, "creation of threads");
    scheduler_step(scheduler,
                   &(struct step){.kind = STEP_CREATE, .object = &creation, .place = place});
    const uint8_t lane = scheduler_lane_count(scheduler);
    if (lane == LANE_COUNT_MAX) {
        return EAGAIN;
    }
    struct thread *own = &pthreads_run_of(scheduler)->threads[lane];
    *own = *thread;
    pthreads_release(scheduler, own);
    const uint8_t parent = scheduler_lane(scheduler);
    EXPLORE_CHECK(scheduler_lane_start(scheduler, false, run_thread, own) == lane);
    if (scheduler_order(scheduler) != NULL) {
        order_start(scheduler_order(scheduler), parent, lane);
    }
    *id = thread_id(lane);
    return 0;
}

/* --- join --- */

struct join {
    uint8_t lane;
    void **result;
    uint64_t deadline_ns; /* 0: none */
    const void *place;
};

static int find_join_error(struct scheduler *scheduler, const struct join *join)
{
    const struct thread *thread = &pthreads_run_of(scheduler)->threads[join->lane];
    if (join->lane == scheduler_lane(scheduler)) {
        return EDEADLK;
    }
    return thread->is_detached || thread->is_joined ? EINVAL : 0;
}

static int join_ended_thread(struct scheduler *scheduler, const struct join *join)
{
    struct thread *thread = &pthreads_run_of(scheduler)->threads[join->lane];
    if (thread->is_detached || thread->is_joined) {
        return EINVAL; /* by another lane, meanwhile */
    }
    thread->is_joined = true;
    pthreads_acquire(scheduler, thread);
    if (scheduler_order(scheduler) != NULL) {
        order_join(scheduler_order(scheduler), scheduler_lane(scheduler), join->lane);
    }
    if (join->result != NULL) {
        *join->result = thread->result;
    }
    return 0;
}

/* With a time-out it depends on how far the other lane is, so it says that it may touch anything.
 */
static int join_thread(struct scheduler *scheduler, const struct join *join)
{
    const int error = find_join_error(scheduler, join);
    if (error != 0) {
        return error;
    }
    const struct thread *thread = &pthreads_run_of(scheduler)->threads[join->lane];
    scheduler_object(scheduler, thread, "end of thread");
    const struct step step = {.kind = STEP_WAIT,
                              .object = join->deadline_ns == 0 ? thread : NULL,
                              .gate = scheduler_lane_gate(scheduler, join->lane),
                              .deadline_ns = join->deadline_ns,
                              .place = join->place};
    if (scheduler_step(scheduler, &step) == STEP_TIMED_OUT) {
        return ETIMEDOUT;
    }
    return join_ended_thread(scheduler, join);
}

static int try_join_thread(struct scheduler *scheduler, const struct join *join)
{
    const int error = find_join_error(scheduler, join);
    if (error != 0) {
        return error;
    }
    scheduler_step(scheduler, &(struct step){.kind = STEP_TRY_LOCK, .place = join->place});
    return *scheduler_lane_gate(scheduler, join->lane) != 0 ? EBUSY
                                                            : join_ended_thread(scheduler, join);
}

static int join_thread_until(struct scheduler *scheduler, struct join *attempt,
                             const struct timespec *time)
{
    if (!time_parse(time, &attempt->deadline_ns)) {
        return EINVAL;
    }
    return join_thread(scheduler, attempt);
}

static int detach_thread(struct scheduler *scheduler, uint8_t lane)
{
    struct thread *thread = &pthreads_run_of(scheduler)->threads[lane];
    if (thread->is_detached || thread->is_joined) {
        return EINVAL;
    }
    thread->is_detached = true;
    return 0;
}

/* --- what the code under test calls --- */

INTERPOSED int pthread_create(pthread_t *id, const pthread_attr_t *attributes,
                              void *(*routine)(void *argument), void *argument)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        return REAL(pthread_create)(id, attributes, routine, argument);
    }
    const struct thread thread = {
        .routine = routine, .argument = argument, .is_detached = is_starting_detached(attributes)};
    return create_thread(scheduler, id, &thread, PLACE);
}

/* Defines a function of a thread's id.  The id of a real thread goes to the real one; for a lane of
 * this run the result is that of the expression at the end, otherwise it is missing. */
#define INTERPOSE_ID(name, parameters, arguments, missing, ...)                          \
    INTERPOSED int name parameters                                                       \
    {                                                                                    \
        uint8_t lane;                                                                    \
        struct scheduler *scheduler = scheduler_current();                               \
        if (!thread_id_is_lane(id)) {                                                    \
            return REAL(name) arguments;                                                 \
        }                                                                                \
        return scheduler != NULL && thread_id_find(scheduler, id, &lane) ? (__VA_ARGS__) \
                                                                         : missing;      \
    }

INTERPOSE_ID(pthread_join, (pthread_t id, void **result), (id, result), ESRCH,
             join_thread(scheduler, &(struct join){.lane = lane, .result = result, .place = PLACE}))

INTERPOSE_ID(pthread_tryjoin_np, (pthread_t id, void **result), (id, result), ESRCH,
             try_join_thread(scheduler,
                             &(struct join){.lane = lane, .result = result, .place = PLACE}))

INTERPOSE_ID(pthread_timedjoin_np, (pthread_t id, void **result, const struct timespec *time),
             (id, result, time), ESRCH,
             join_thread_until(scheduler,
                               &(struct join){.lane = lane, .result = result, .place = PLACE},
                               time))

INTERPOSE_ID(pthread_clockjoin_np,
             (pthread_t id, void **result, clockid_t clock, const struct timespec *time),
             (id, result, clock, time), ESRCH,
             join_thread_until(scheduler,
                               &(struct join){.lane = lane, .result = result, .place = PLACE},
                               time))

INTERPOSE_ID(pthread_detach, (pthread_t id), (id), ESRCH, detach_thread(scheduler, lane))

INTERPOSED _Noreturn void pthread_exit(void *result)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        REAL(pthread_exit)(result);
        abort();
    }
    end_thread(scheduler, result);
}

INTERPOSE(pthread_t, pthread_self, (void), (), thread_id(scheduler_lane(scheduler)))

/* --- the same of C11 --- */

INTERPOSED int thrd_create(thrd_t *id, thrd_start_t routine, void *argument)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        return REAL(thrd_create)(id, routine, argument);
    }
    const struct thread thread = {.c11_routine = routine, .argument = argument};
    return c11_result(create_thread(scheduler, id, &thread, PLACE));
}

INTERPOSED int thrd_join(thrd_t id, int *result)
{
    struct scheduler *scheduler = scheduler_current();
    void *given = NULL;
    struct join attempt = {.result = &given, .place = PLACE};
    if (!thread_id_is_lane(id)) {
        return REAL(thrd_join)(id, result);
    }
    if (scheduler == NULL || !thread_id_find(scheduler, id, &attempt.lane)) {
        return thrd_error;
    }
    const int error = join_thread(scheduler, &attempt);
    if (error == 0 && result != NULL) {
        *result = (int)(uintptr_t)given;
    }
    return c11_result(error);
}

INTERPOSE_ID(thrd_detach, (thrd_t id), (id), thrd_error, c11_result(detach_thread(scheduler, lane)))

INTERPOSED _Noreturn void thrd_exit(int result)
{
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL) {
        REAL(thrd_exit)(result);
        abort();
    }
    end_thread(scheduler, result_of_c11(result));
}

INTERPOSE(thrd_t, thrd_current, (void), (), thread_id(scheduler_lane(scheduler)))

/* These functions also take a thread's id.  The real ones would take a lane's for an address. */

/* Returns the thread that really runs the lane. */
static pthread_t find_carrier(pthread_t id)
{
    return thread_id_is_lane(id) ? REAL(pthread_self)() : id;
}

INTERPOSED int pthread_setname_np(pthread_t id, const char *name)
{
    return thread_id_is_lane(id) ? 0 : REAL(pthread_setname_np)(id, name);
}

INTERPOSED int pthread_getname_np(pthread_t id, char *name, size_t name_bytes)
{
    if (!thread_id_is_lane(id)) {
        return REAL(pthread_getname_np)(id, name, name_bytes);
    }
    const int length = snprintf(name, name_bytes, "lane %u", (unsigned)(id - THREAD_ID_FIRST));
    return length < 0 || (size_t)length >= name_bytes ? ERANGE : 0;
}

INTERPOSED int pthread_getattr_np(pthread_t id, pthread_attr_t *attributes)
{
    return REAL(pthread_getattr_np)(find_carrier(id), attributes);
}

INTERPOSED int pthread_setaffinity_np(pthread_t id, size_t set_bytes, const cpu_set_t *set)
{
    return thread_id_is_lane(id) ? 0 : REAL(pthread_setaffinity_np)(id, set_bytes, set);
}

INTERPOSED int pthread_getaffinity_np(pthread_t id, size_t set_bytes, cpu_set_t *set)
{
    return REAL(pthread_getaffinity_np)(find_carrier(id), set_bytes, set);
}

INTERPOSED int pthread_setschedparam(pthread_t id, int policy, const struct sched_param *parameters)
{
    return thread_id_is_lane(id) ? 0 : REAL(pthread_setschedparam)(id, policy, parameters);
}

INTERPOSED int pthread_getschedparam(pthread_t id, int *policy, struct sched_param *parameters)
{
    return REAL(pthread_getschedparam)(find_carrier(id), policy, parameters);
}

INTERPOSED int pthread_setschedprio(pthread_t id, int priority)
{
    return thread_id_is_lane(id) ? 0 : REAL(pthread_setschedprio)(id, priority);
}

INTERPOSED int pthread_getcpuclockid(pthread_t id, clockid_t *clock)
{
    if (!thread_id_is_lane(id)) {
        return REAL(pthread_getcpuclockid)(id, clock);
    }
    *clock = CLOCK_THREAD_CPUTIME_ID;
    return 0;
}

INTERPOSED int pthread_kill(pthread_t id, int signal_number)
{
    if (!thread_id_is_lane(id)) {
        return REAL(pthread_kill)(id, signal_number);
    }
    uint8_t lane;
    struct scheduler *scheduler = scheduler_current();
    if (scheduler == NULL || !thread_id_find(scheduler, id, &lane)) {
        return ESRCH;
    }
    return signal_number == 0 ? 0 : ENOTSUP;
}

INTERPOSED int pthread_cancel(pthread_t id)
{
    return thread_id_is_lane(id) ? ENOTSUP : REAL(pthread_cancel)(id);
}
