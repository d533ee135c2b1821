/* What waits until others do something: condition variables, semaphores, barriers, once. */
#include "explore/pthreads/pthreads.h"
#include "tests/explore/pthreads_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RUN_COUNT = 400, ITEM_COUNT = 4, LANE_COUNT = 3 };

static pthread_mutex_t mutex;
static pthread_cond_t condition, other_condition;
static pthread_barrier_t barrier;
static sem_t semaphore, other_semaphore;
static volatile int queued, taken, seen, arrived, serial_count;

static void reset_state(void)
{
    queued = taken = seen = arrived = serial_count = 0;
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_init(&condition, NULL);
    pthread_cond_init(&other_condition, NULL);
}

static void run_lanes(size_t count, void *(*const routines[])(void *))
{
    pthread_t threads[LANE_COUNT];
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, routines[i], NULL), 0);
    }
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
}

/* --- condition variables --- */

static void *produce_items(void *argument)
{
    for (int i = 0; i < ITEM_COUNT; i++) {
        pthread_mutex_lock(&mutex);
        while (queued == 1) {
            ck_assert_int_eq(pthread_cond_wait(&other_condition, &mutex), 0);
        }
        queued++;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void *consume_items(void *argument)
{
    for (int i = 0; i < ITEM_COUNT / 2; i++) {
        pthread_mutex_lock(&mutex);
        while (queued == 0) {
            ck_assert_int_eq(pthread_cond_wait(&condition, &mutex), 0);
        }
        ck_assert_int_eq(queued--, 1);
        taken++;
        pthread_cond_signal(&other_condition);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void queue_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(3, (void *(*const[])(void *)){produce_items, consume_items, consume_items});
    ck_assert_int_eq(taken, ITEM_COUNT);
    ck_assert_int_eq(pthread_cond_destroy(&condition), 0);
    ck_assert_int_eq(pthread_cond_destroy(&other_condition), 0);
}

EVERY_TEST(.begin = pthreads_link, .timeout_s = 300);

TEST(producer_and_consumers_always_finish)
{
    rig_check_finishes(RUN_COUNT * 4, queue_body);
}

static void *await_flag(void *argument)
{
    pthread_mutex_lock(&mutex);
    while (queued == 0) {
        pthread_cond_wait(&condition, &mutex);
    }
    seen++;
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void *raise_flag_for_all(void *argument)
{
    pthread_mutex_lock(&mutex);
    queued = 1;
    pthread_mutex_unlock(&mutex);
    pthread_cond_broadcast(&condition);
    return argument;
}

static void broadcast_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(3, (void *(*const[])(void *)){await_flag, await_flag, raise_flag_for_all});
    ck_assert_int_eq(seen, 2);
}

TEST(a_broadcast_wakes_all_who_wait)
{
    rig_check_finishes(RUN_COUNT, broadcast_body);
}

static void *raise_flag_for_one(void *argument)
{
    pthread_mutex_lock(&mutex);
    queued = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void one_signal_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(3, (void *(*const[])(void *)){await_flag, await_flag, raise_flag_for_one});
}

TEST(one_signal_for_two_waiters_loses_one)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_LOST_WAKEUP, one_signal_body, text);
    ck_assert_msg(strstr(text, "condition variable #") != NULL, "%s", text);
}

/* The flag is looked at before the mutex is taken: the signal may come between. */
static void *await_flag_carelessly(void *argument)
{
    if (queued == 0) {
        pthread_mutex_lock(&mutex);
        pthread_cond_wait(&condition, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void *raise_flag_outside(void *argument)
{
    queued = 1;
    pthread_cond_signal(&condition);
    return argument;
}

static void careless_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(2, (void *(*const[])(void *)){await_flag_carelessly, raise_flag_outside});
}

TEST(a_signal_between_the_look_and_the_wait_is_lost)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_LOST_WAKEUP, careless_body, text);
}

static void *await_for_an_hour(void *argument)
{
    struct timespec start, time, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 3600;
    pthread_mutex_lock(&mutex);
    int error = 0;
    while (error == 0) { /* it may wake for no reason */
        error = pthread_cond_timedwait(&condition, &mutex, &time);
    }
    ck_assert_int_eq(error, ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ck_assert_int_ge((int)(end.tv_sec - start.tv_sec), 3600);
    time.tv_nsec = -1;
    ck_assert_int_eq(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &time), EINVAL);
    ck_assert_int_eq(pthread_mutex_trylock(&mutex), EBUSY);
    pthread_mutex_unlock(&mutex);
    return argument;
}

/* A wait that may return for no reason as well as for its time-out. */
static void *await_flag_or_time(void *argument)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 1;
    int error = 0;
    pthread_mutex_lock(&mutex);
    while (queued == 0 && error == 0) {
        error = pthread_cond_timedwait(&condition, &mutex, &time);
    }
    ck_assert(error == ETIMEDOUT || queued == 1);
    seen += error == ETIMEDOUT;
    taken += error == 0;
    pthread_mutex_unlock(&mutex);
    return argument;
}

static int timeout_count, wake_count;

static void timed_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(2, (void *(*const[])(void *)){await_flag_or_time, raise_flag_for_one});
    timeout_count += seen;
    wake_count += taken;
}

static void hour_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(1, (void *(*const[])(void *)){await_for_an_hour});
}

TEST(a_timed_wait_is_woken_or_ends_in_virtual_time)
{
    timeout_count = wake_count = 0;
    rig_check_finishes(RUN_COUNT, timed_body);
    ck_assert_int_gt(timeout_count, 0);
    ck_assert_int_gt(wake_count, 0);
}

TEST(a_timed_wait_that_nobody_ends_takes_its_hour)
{
    rig_check_finishes(RUN_COUNT, hour_body);
}

static void waited_destroy_body(void *context)
{
    (void)context;
    pthread_t thread;
    reset_state();
    pthread_create(&thread, NULL, await_flag, NULL);
    sched_yield();
    sched_yield();
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&condition);
    pthread_mutex_lock(&mutex);
    queued = 1;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

static void unheld_wait_body(void *context)
{
    (void)context;
    reset_state();
    pthread_cond_wait(&condition, &mutex);
}

TEST(a_destroy_under_a_waiter_and_a_wait_without_the_mutex_are_misuse)
{
    struct outcomes outcomes;
    char text[SCHEDULER_TEXT_BYTES];
    rig_run(SCHEDULER_FIBERS, RUN_COUNT, waited_destroy_body, &outcomes);
    ck_assert_uint_gt(outcomes.counts[SCHEDULER_MISUSE], 0);
    rig_check_finds(SCHEDULER_MISUSE, unheld_wait_body, text);
    ck_assert_msg(strstr(text, "lane 0 unlocks, without holding it, mutex #") != NULL, "%s", text);
}

/* --- semaphores --- */

static void *post_items(void *argument)
{
    for (int i = 0; i < ITEM_COUNT; i++) {
        ck_assert_int_eq(sem_wait(&other_semaphore), 0);
        ck_assert_int_eq(queued++, 0);
        ck_assert_int_eq(sem_post(&semaphore), 0);
    }
    return argument;
}

static void *await_items(void *argument)
{
    for (int i = 0; i < ITEM_COUNT; i++) {
        ck_assert_int_eq(sem_wait(&semaphore), 0);
        ck_assert_int_eq(queued--, 1);
        ck_assert_int_eq(sem_post(&other_semaphore), 0);
    }
    return argument;
}

static void check_value(sem_t *of, int value)
{
    int found;
    ck_assert_int_eq(sem_getvalue(of, &found), 0);
    ck_assert_int_eq(found, value);
}

static void semaphore_body(void *context)
{
    (void)context;
    struct timespec time = {.tv_sec = 5};
    reset_state();
    sem_init(&semaphore, 0, 0);
    sem_init(&other_semaphore, 0, 1);
    run_lanes(2, (void *(*const[])(void *)){post_items, await_items});
    check_value(&semaphore, 0);
    check_value(&other_semaphore, 1);
    ck_assert_int_eq(sem_trywait(&other_semaphore), 0);
    ck_assert_int_eq(sem_trywait(&other_semaphore), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(sem_timedwait(&other_semaphore, &time), -1);
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_int_eq(sem_destroy(&semaphore), 0);
}

TEST(semaphores_hand_turns_on_and_keep_their_value)
{
    rig_check_finishes(RUN_COUNT, semaphore_body);
}

static void starved_body(void *context)
{
    (void)context;
    sem_init(&semaphore, 0, 0);
    sem_wait(&semaphore);
}

TEST(a_semaphore_that_nobody_posts_is_a_deadlock)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_DEADLOCK, starved_body, text);
    ck_assert_msg(strstr(text, "lane 0 awaits semaphore #1 at ") != NULL, "%s", text);
}

/* --- barriers and once --- */

static void *cross_twice(void *argument)
{
    for (int round = 1; round <= 2; round++) {
        arrived++;
        const int result = pthread_barrier_wait(&barrier);
        ck_assert(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        ck_assert_int_ge(arrived, round * LANE_COUNT);
        serial_count += result == PTHREAD_BARRIER_SERIAL_THREAD;
    }
    return argument;
}

static void barrier_body(void *context)
{
    (void)context;
    reset_state();
    ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, LANE_COUNT), 0);
    run_lanes(3, (void *(*const[])(void *)){cross_twice, cross_twice, cross_twice});
    ck_assert_int_eq(serial_count, 2);
    ck_assert_int_eq(pthread_barrier_destroy(&barrier), 0);
}

TEST(nobody_passes_a_barrier_before_all_have_come_and_one_is_told)
{
    rig_check_finishes(RUN_COUNT, barrier_body);
}

static void *arrive_alone(void *argument)
{
    pthread_barrier_wait(&barrier);
    return argument;
}

static void lonely_barrier_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(1, (void *(*const[])(void *)){arrive_alone});
}

TEST(a_barrier_that_was_made_before_the_run_has_its_size)
{
    struct outcomes outcomes;
    pthread_barrier_init(&barrier, NULL, 2);
    rig_run(SCHEDULER_FIBERS, 1, lonely_barrier_body, &outcomes);
    ck_assert_uint_eq(outcomes.counts[SCHEDULER_DEADLOCK], 1);
    ck_assert_msg(strstr(outcomes.text, "lane 1 awaits barrier #") != NULL, "%s", outcomes.text);
    pthread_barrier_destroy(&barrier);
}

static pthread_once_t once;

static void initialise_once(void)
{
    ck_assert_int_eq(queued++, 0);
    sched_yield();
    seen = 1;
}

static void *use_once(void *argument)
{
    ck_assert_int_eq(pthread_once(&once, initialise_once), 0);
    ck_assert_int_eq(seen, 1);
    return argument;
}

static void once_body(void *context)
{
    (void)context;
    reset_state();
    once = PTHREAD_ONCE_INIT;
    run_lanes(3, (void *(*const[])(void *)){use_once, use_once, use_once});
    ck_assert_int_eq(queued, 1);
}

TEST(what_is_done_once_is_done_by_one_and_awaited_by_the_others)
{
    rig_check_finishes(RUN_COUNT, once_body);
    pthread_once(&once, initialise_once); /* done in lanes, so done */
    ck_assert_int_eq(queued, 1);
}

/* --- what nobody sees --- */

/* A thread sanitizer keeps signals back until the next call that it knows: a spin makes none. */
#ifndef EXPLORE_REAL_LOCKS
static volatile int never_set;

static void spin_body(void *context)
{
    (void)context;
    while (never_set == 0) {
    }
}

/* A spin burns what the scheduler waits for: the ten seconds of the default are for a full run. */
TEST(a_spin_on_a_plain_variable_is_noticed_and_its_place_named)
{
    const uint32_t stuck_after_ms = draws_period() == 1 ? 0 : 400;
    for (int backend = SCHEDULER_FIBERS; backend <= SCHEDULER_THREADS; backend++) {
        struct outcomes outcomes;
        rig_run_stuck((enum scheduler_backend)backend, stuck_after_ms, spin_body, &outcomes);
        ck_assert_uint_eq(outcomes.counts[SCHEDULER_STUCK], 1);
        ck_assert_msg(strstr(outcomes.text, "spin_body+0x") != NULL, "%s", outcomes.text);
    }
}

/* A quarter of a second of computing, then a wait that no pthread call shows. */
static void compute_then_wait_body(void *context)
{
    (void)context;
    const clock_t end = clock() + CLOCKS_PER_SEC / 4;
    while (clock() < end) {
    }
    (void)syscall(SYS_futex, &never_set, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

TEST(a_wait_in_a_raw_futex_is_noticed_after_a_computation)
{
    for (int backend = SCHEDULER_FIBERS; backend <= SCHEDULER_THREADS; backend++) {
        struct outcomes outcomes;
        rig_run((enum scheduler_backend)backend, 1, compute_then_wait_body, &outcomes);
        ck_assert_uint_eq(outcomes.counts[SCHEDULER_NOT_MODELLED], 1);
        ck_assert_msg(strstr(outcomes.text, "waits in futex at compute_then_wait_body+0x") != NULL,
                      "%s", outcomes.text);
    }
}

/* While nobody else may run, too: a target closes then. */
static void wait_alone_body(void *context)
{
    (void)context;
    scheduler_alone(scheduler_current(), true);
    (void)syscall(SYS_futex, &never_set, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

TEST(a_wait_is_noticed_within_a_second_where_computing_may_take_long)
{
    struct timespec before, after;
    struct outcomes outcomes;
    clock_gettime(CLOCK_MONOTONIC, &before);
    rig_run(SCHEDULER_THREADS, 1, wait_alone_body, &outcomes);
    clock_gettime(CLOCK_MONOTONIC, &after);
    ck_assert_uint_eq(outcomes.counts[SCHEDULER_NOT_MODELLED], 1);
    /* As long again is for a busy machine. */
    ck_assert_int_le(after.tv_sec - before.tv_sec, 2);
}

static int output[2];

/* More than a pipe holds. */
static void write_much_body(void *context)
{
    (void)context;
    static const char bytes[1 << 17];
    ck_assert_int_eq(write(output[1], bytes, sizeof bytes), (ssize_t)sizeof bytes);
}

static void *read_late(void *argument)
{
    static char bytes[1 << 17];
    (void)poll(NULL, 0, 1500);
    for (size_t left = sizeof bytes; left > 0;) {
        const ssize_t length = read(output[0], bytes, left);
        ck_assert_int_gt(length, 0);
        left -= (size_t)length;
    }
    return argument;
}

TEST(what_a_lane_writes_may_wait_for_its_reader)
{
    pthread_t reader;
    struct outcomes outcomes;
    ck_assert_int_eq(pipe(output), 0);
    ck_assert_int_eq(pthread_create(&reader, NULL, read_late, NULL), 0);
    rig_run(SCHEDULER_FIBERS, 1, write_much_body, &outcomes);
    ck_assert_uint_eq(outcomes.counts[SCHEDULER_FINISHED], 1);
    ck_assert_int_eq(pthread_join(reader, NULL), 0);
}

#endif
