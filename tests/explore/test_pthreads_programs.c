/* What waits for others, with the calls of pthreads: the files of programs/. */
#include "explore/pthreads/pthreads.h"
#include "tests/explore/programs.h"
#include "tests/helpers/suite.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

enum { LANE_MAX = 4 };

static pthread_mutex_t mutexes[2];
static pthread_cond_t conditions[2];
static sem_t semaphores[2];
static pthread_barrier_t barrier;
static pthread_rwlock_t rwlock;
static pthread_spinlock_t spinlock;
static pthread_once_t once;
static pthread_t threads[LANE_MAX];

static const struct program_object objects[] = {
    {"a", "mutex", &mutexes[0]},        {"b", "mutex", &mutexes[1]},
    {"c", "condition", &conditions[0]}, {"d", "condition", &conditions[1]},
    {"p", "semaphore", &semaphores[0]}, {"q", "semaphore", &semaphores[1]},
    {"w", "barrier", &barrier},         {"r", "rwlock", &rwlock},
    {"s", "spin", (void *)&spinlock},   {"o", "once", &once},
};

/* -1 and -2: no time at all. */
static struct timespec time_after(clockid_t clock, long seconds)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += seconds > 0 ? seconds : 0;
    time.tv_nsec = seconds == -1 ? -1 : seconds == -2 ? 1000000000 : time.tv_nsec;
    return time;
}

static int init_mutex(pthread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    const int error = pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static int value_of(sem_t *semaphore)
{
    int value;
    ck_assert_int_eq(sem_getvalue(semaphore, &value), 0);
    return value;
}

/* One of them is told: EINTR. */
static int await_barrier(pthread_barrier_t *waited)
{
    const int result = pthread_barrier_wait(waited);
    return result == PTHREAD_BARRIER_SERIAL_THREAD ? EINTR : result;
}

#define UNTIL(clock) ((struct timespec[]){time_after(clock, argument)})
/* The calls: a sort of object, a word, and what is called with it and an argument. */
#define EACH_CALL(X)                                                                               \
    X(mutex, init, pthread_mutex_init(object, NULL))                                               \
    X(mutex, init_recursive, init_mutex(object, PTHREAD_MUTEX_RECURSIVE))                          \
    X(mutex, init_errorcheck, init_mutex(object, PTHREAD_MUTEX_ERRORCHECK))                        \
    X(mutex, static, (*(pthread_mutex_t *)object = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER, 0)) \
    X(mutex, static_recursive,                                                                     \
      (*(pthread_mutex_t *)object = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, 0))   \
    X(mutex, lock, pthread_mutex_lock(object))                                                     \
    X(mutex, trylock, pthread_mutex_trylock(object))                                               \
    X(mutex, timedlock, pthread_mutex_timedlock(object, UNTIL(CLOCK_REALTIME)))                    \
    X(mutex, clocklock, pthread_mutex_clocklock(object, CLOCK_MONOTONIC, UNTIL(CLOCK_MONOTONIC)))  \
    X(mutex, unlock, pthread_mutex_unlock(object))                                                 \
    X(mutex, destroy, pthread_mutex_destroy(object))                                               \
    X(rwlock, init, pthread_rwlock_init(object, NULL))                                             \
    X(rwlock, rdlock, pthread_rwlock_rdlock(object))                                               \
    X(rwlock, wrlock, pthread_rwlock_wrlock(object))                                               \
    X(rwlock, tryrdlock, pthread_rwlock_tryrdlock(object))                                         \
    X(rwlock, trywrlock, pthread_rwlock_trywrlock(object))                                         \
    X(rwlock, unlock, pthread_rwlock_unlock(object))                                               \
    X(rwlock, destroy, pthread_rwlock_destroy(object))                                             \
    X(spin, init, pthread_spin_init(object, PTHREAD_PROCESS_PRIVATE))                              \
    X(spin, lock, pthread_spin_lock(object))                                                       \
    X(spin, trylock, pthread_spin_trylock(object))                                                 \
    X(spin, unlock, pthread_spin_unlock(object))                                                   \
    X(spin, destroy, pthread_spin_destroy(object))                                                 \
    X(condition, init, pthread_cond_init(object, NULL))                                            \
    X(condition, wait, pthread_cond_wait(object, &mutexes[0]))                                     \
    X(condition, timedwait, pthread_cond_timedwait(object, &mutexes[0], UNTIL(CLOCK_REALTIME)))    \
    X(condition, clockwait,                                                                        \
      pthread_cond_clockwait(object, &mutexes[0], CLOCK_MONOTONIC, UNTIL(CLOCK_MONOTONIC)))        \
    X(condition, signal, pthread_cond_signal(object))                                              \
    X(condition, broadcast, pthread_cond_broadcast(object))                                        \
    X(condition, destroy, pthread_cond_destroy(object))                                            \
    X(semaphore, init, sem_init(object, 0, (unsigned)argument))                                    \
    X(semaphore, wait, sem_wait(object))                                                           \
    X(semaphore, trywait, sem_trywait(object))                                                     \
    X(semaphore, timedwait, sem_timedwait(object, UNTIL(CLOCK_REALTIME)))                          \
    X(semaphore, post, sem_post(object))                                                           \
    X(semaphore, value, value_of(object) == argument ? 0 : EINVAL)                                 \
    X(semaphore, destroy, sem_destroy(object))                                                     \
    X(barrier, init, pthread_barrier_init(object, NULL, (unsigned)argument))                       \
    X(barrier, wait, await_barrier(object))                                                        \
    X(barrier, destroy, pthread_barrier_destroy(object))                                           \
    X(once, init, (*(pthread_once_t *)object = (pthread_once_t)PTHREAD_ONCE_INIT, 0))              \
    X(once, call, pthread_once(object, program_initialise))                                        \
    X(none, yield, sched_yield())                                                                  \
    X(none, sleep, (int)sleep((unsigned)argument))

/* -1 stands for errno. */
#define DEFINE_CALL(sort, word, expression)                      \
    static int call_##sort##_##word(void *object, long argument) \
    {                                                            \
        (void)object;                                            \
        (void)argument;                                          \
        const int result = (expression);                         \
        return result == -1 ? errno : result;                    \
    }
EACH_CALL(DEFINE_CALL)

#define ROW_OF_CALL(sort, word, expression) {#word, #sort, call_##sort##_##word},
static const struct program_call calls[] = {EACH_CALL(ROW_OF_CALL)};

static void *run_lane(void *block)
{
    program_lane(block);
    return block;
}

static void start_lane(size_t lane, void *block)
{
    ck_assert_uint_lt(lane, LANE_MAX);
    ck_assert_int_eq(pthread_create(&threads[lane], NULL, run_lane, block), 0);
}

static void join_lane(size_t lane)
{
    ck_assert_int_eq(pthread_join(threads[lane], NULL), 0);
}

const struct program_library program_library = {
    .calls = calls,
    .call_count = sizeof calls / sizeof *calls,
    .objects = objects,
    .object_count = sizeof objects / sizeof *objects,
    .start = start_lane,
    .join = join_lane,
};

EVERY_TEST(.begin = pthreads_link, .timeout_s = 300);

TEST(each_program_ends_as_it_says, .count = programs_count)
{
    programs_run(_i);
}
