/* The threads of C11: what their pthread counterparts do, they do, with the results of C11. */
#include "explore/pthreads/pthreads.h"
#include "tests/explore/pthreads_rig.h"
#include "tests/helpers/suite.h"

#include <stdint.h>
#include <string.h>
#include <threads.h>
#include <time.h>

enum { RUN_COUNT = 400, ROUND_COUNT = 5, LANE_COUNT = 3 };

static mtx_t mutex_a, mutex_b;
static cnd_t condition;
static once_flag once;
static tss_t key, plain_key;
static volatile int inside, total, busy_count, timed_out_count, raised, seen, done_count;
static volatile int destroyed_sum;
static int numbers[LANE_COUNT] = {0, 1, 2};

static void reset_state(void)
{
    inside = total = raised = seen = 0;
    ck_assert_int_eq(mtx_init(&mutex_a, mtx_plain), thrd_success);
    ck_assert_int_eq(mtx_init(&mutex_b, mtx_timed), thrd_success);
    ck_assert_int_eq(cnd_init(&condition), thrd_success);
}

static void run_lanes(size_t count, int (*const routines[])(void *))
{
    thrd_t threads[LANE_COUNT];
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(thrd_create(&threads[i], routines[i], &numbers[i]), thrd_success);
    }
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(thrd_join(threads[i], NULL), thrd_success);
    }
}

/* A critical section with a point in it. */
static void be_alone(void)
{
    ck_assert_int_eq(inside++, 0);
    thrd_yield();
    total++;
    ck_assert_int_eq(--inside, 0);
}

/* --- mutexes --- */

static int lock_rounds(void *argument)
{
    (void)argument;
    for (int i = 0; i < ROUND_COUNT; i++) {
        ck_assert_int_eq(mtx_lock(&mutex_a), thrd_success);
        be_alone();
        ck_assert_int_eq(mtx_unlock(&mutex_a), thrd_success);
    }
    return 0;
}

static void mutex_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(2, (int (*const[])(void *)){lock_rounds, lock_rounds});
    ck_assert_int_eq(total, 2 * ROUND_COUNT);
    mtx_destroy(&mutex_a);
}

EVERY_TEST(.begin = pthreads_link, .timeout_s = 300);

TEST(a_mutex_lets_one_lane_in_at_a_time)
{
    rig_check_finishes(RUN_COUNT, mutex_body);
}

static int try_rounds(void *argument)
{
    (void)argument;
    for (int i = 0; i < ROUND_COUNT; i++) {
        const int result = mtx_trylock(&mutex_a);
        ck_assert(result == thrd_success || result == thrd_busy);
        if (result == thrd_success) {
            be_alone();
            mtx_unlock(&mutex_a);
        }
        busy_count += result == thrd_busy;
    }
    return 0;
}

static void try_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(2, (int (*const[])(void *)){try_rounds, lock_rounds});
}

TEST(a_try_finds_the_mutex_free_or_busy)
{
    busy_count = 0;
    rig_check_finishes(RUN_COUNT, try_body);
    ck_assert_int_gt(busy_count, 0);
    ck_assert_int_lt(busy_count, 2 * RUN_COUNT * ROUND_COUNT);
}

static int lock_until(void *argument)
{
    (void)argument;
    const struct timespec hour = {.tv_sec = 3600};
    const int result = mtx_timedlock(&mutex_b, &hour);
    ck_assert(result == thrd_success || result == thrd_timedout);
    timed_out_count += result == thrd_timedout;
    if (result == thrd_success) {
        mtx_unlock(&mutex_b);
    }
    return 0;
}

static int hold_for_a_day(void *argument)
{
    (void)argument;
    const struct timespec day = {.tv_sec = 86400};
    mtx_lock(&mutex_b);
    ck_assert_int_eq(thrd_sleep(&day, NULL), 0);
    mtx_unlock(&mutex_b);
    return 0;
}

static void timed_lock_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(2, (int (*const[])(void *)){hold_for_a_day, lock_until});
}

TEST(a_timed_lock_ends_in_virtual_time_where_it_waits)
{
    timed_out_count = 0;
    rig_check_finishes(RUN_COUNT, timed_lock_body);
    ck_assert_int_gt(timed_out_count, 0);
    ck_assert_int_lt(timed_out_count, 2 * RUN_COUNT);
}

static void recursive_body(void *context)
{
    (void)context;
    mtx_t mutex;
    ck_assert_int_eq(mtx_init(&mutex, mtx_plain | mtx_recursive), thrd_success);
    ck_assert_int_eq(mtx_lock(&mutex), thrd_success);
    ck_assert_int_eq(mtx_trylock(&mutex), thrd_success);
    ck_assert_int_eq(mtx_unlock(&mutex), thrd_success);
    ck_assert_int_eq(mtx_unlock(&mutex), thrd_success);
    ck_assert_int_eq(mtx_unlock(&mutex), thrd_error);
    mtx_destroy(&mutex);
}

TEST(a_recursive_mutex_counts)
{
    rig_check_finishes(1, recursive_body);
}

static int lock_a_then_b(void *argument)
{
    (void)argument;
    mtx_lock(&mutex_a);
    mtx_lock(&mutex_b);
    mtx_unlock(&mutex_b);
    mtx_unlock(&mutex_a);
    return 0;
}

static int lock_b_then_a(void *argument)
{
    (void)argument;
    mtx_lock(&mutex_b);
    mtx_lock(&mutex_a);
    mtx_unlock(&mutex_a);
    mtx_unlock(&mutex_b);
    return 0;
}

static void deadlock_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(2, (int (*const[])(void *)){lock_a_then_b, lock_b_then_a});
}

TEST(two_orders_of_two_mutexes_are_a_deadlock_with_its_places)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_DEADLOCK, deadlock_body, text);
    ck_assert_msg(strstr(text, "awaits mutex #") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "lock_a_then_b+0x") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "lock_b_then_a+0x") != NULL, "%s", text);
}

static void unlock_unheld_body(void *context)
{
    (void)context;
    reset_state();
    mtx_unlock(&mutex_a);
}

static void destroy_held_body(void *context)
{
    (void)context;
    reset_state();
    mtx_lock(&mutex_a);
    mtx_destroy(&mutex_a);
}

TEST(an_unlock_without_the_lock_and_a_destroy_under_it_are_misuse)
{
    struct outcomes outcomes;
    rig_run(SCHEDULER_FIBERS, 1, unlock_unheld_body, &outcomes);
    ck_assert_uint_eq(outcomes.counts[SCHEDULER_MISUSE], 1);
    ck_assert_msg(strstr(outcomes.text, "unlocks, without holding it") != NULL, "%s",
                  outcomes.text);
    rig_run(SCHEDULER_FIBERS, 1, destroy_held_body, &outcomes);
    ck_assert_uint_eq(outcomes.counts[SCHEDULER_MISUSE], 1);
    ck_assert_msg(strstr(outcomes.text, "destroys, while it is held") != NULL, "%s", outcomes.text);
}

/* --- condition variables --- */

static int await_flag(void *argument)
{
    (void)argument;
    mtx_lock(&mutex_a);
    while (raised == 0) {
        ck_assert_int_eq(cnd_wait(&condition, &mutex_a), thrd_success);
    }
    seen++;
    mtx_unlock(&mutex_a);
    return 0;
}

static int raise_for_all(void *argument)
{
    (void)argument;
    mtx_lock(&mutex_a);
    raised = 1;
    mtx_unlock(&mutex_a);
    ck_assert_int_eq(cnd_broadcast(&condition), thrd_success);
    return 0;
}

static int raise_for_one(void *argument)
{
    (void)argument;
    mtx_lock(&mutex_a);
    raised = 1;
    ck_assert_int_eq(cnd_signal(&condition), thrd_success);
    mtx_unlock(&mutex_a);
    return 0;
}

static void broadcast_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(3, (int (*const[])(void *)){await_flag, await_flag, raise_for_all});
    ck_assert_int_eq(seen, 2);
    cnd_destroy(&condition);
}

TEST(a_broadcast_wakes_all_who_wait)
{
    rig_check_finishes(RUN_COUNT, broadcast_body);
}

static void one_signal_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(3, (int (*const[])(void *)){await_flag, await_flag, raise_for_one});
}

TEST(one_signal_for_two_waiters_is_a_lost_wakeup)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_LOST_WAKEUP, one_signal_body, text);
    ck_assert_msg(strstr(text, "condition variable #") != NULL, "%s", text);
}

static int await_flag_until(void *argument)
{
    (void)argument;
    const struct timespec hour = {.tv_sec = 3600};
    int result = thrd_success;
    mtx_lock(&mutex_a);
    while (raised == 0 && result == thrd_success) {
        result = cnd_timedwait(&condition, &mutex_a, &hour);
    }
    ck_assert(result == thrd_success || result == thrd_timedout);
    timed_out_count += result == thrd_timedout;
    mtx_unlock(&mutex_a);
    return 0;
}

static void timed_wait_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(2, (int (*const[])(void *)){await_flag_until, raise_for_one});
}

TEST(a_timed_wait_is_woken_or_ends_in_virtual_time)
{
    timed_out_count = 0;
    rig_check_finishes(RUN_COUNT, timed_wait_body);
    ck_assert_int_gt(timed_out_count, 0);
    ck_assert_int_lt(timed_out_count, 2 * RUN_COUNT);
}

static int await_nothing(void *argument)
{
    (void)argument;
    mtx_lock(&mutex_a);
    cnd_wait(&condition, &mutex_a);
    mtx_unlock(&mutex_a);
    return 0;
}

static int destroy_condition(void *argument)
{
    (void)argument;
    cnd_destroy(&condition);
    return 0;
}

static void destroy_waited_body(void *context)
{
    (void)context;
    reset_state();
    run_lanes(2, (int (*const[])(void *)){await_nothing, destroy_condition});
}

TEST(a_destroy_under_a_waiter_is_misuse)
{
    struct outcomes outcomes;
    rig_run(SCHEDULER_THREADS, RUN_COUNT, destroy_waited_body, &outcomes);
    ck_assert_uint_gt(outcomes.counts[SCHEDULER_MISUSE], 0);
}

/* --- once --- */

static void initialise_once(void)
{
    thrd_yield();
    done_count++;
}

static int pass_once(void *argument)
{
    (void)argument;
    call_once(&once, initialise_once);
    ck_assert_int_eq(done_count, 1);
    return 0;
}

static void once_body(void *context)
{
    (void)context;
    once = (once_flag)ONCE_FLAG_INIT;
    done_count = 0;
    run_lanes(3, (int (*const[])(void *)){pass_once, pass_once, pass_once});
}

TEST(what_is_done_once_is_done_by_one_and_awaited_by_the_others)
{
    rig_check_finishes(RUN_COUNT, once_body);
    call_once(&once, initialise_once); /* done in lanes, so done */
    ck_assert_int_eq(done_count, 1);
}

/* --- threads --- */

static int return_minus_seven(void *argument)
{
    (void)argument;
    return -7;
}

static int exit_with_nine(void *argument)
{
    (void)argument;
    thrd_exit(9);
}

static int note_id(void *argument)
{
    *(thrd_t *)argument = thrd_current();
    return 0;
}

static void join_body(void *context)
{
    (void)context;
    thrd_t thread, noted;
    int result = 0;
    ck_assert_int_eq(thrd_create(&thread, return_minus_seven, NULL), thrd_success);
    ck_assert_int_eq(thrd_join(thread, &result), thrd_success);
    ck_assert_int_eq(result, -7);
    ck_assert_int_eq(thrd_join(thread, &result), thrd_error);
    ck_assert_int_eq(thrd_create(&thread, exit_with_nine, NULL), thrd_success);
    ck_assert_int_eq(thrd_join(thread, &result), thrd_success);
    ck_assert_int_eq(result, 9);
    ck_assert_int_eq(thrd_create(&thread, note_id, &noted), thrd_success);
    ck_assert_int_eq(thrd_join(thread, NULL), thrd_success);
    ck_assert(thrd_equal(noted, thread) != 0);
    ck_assert(thrd_equal(noted, thrd_current()) == 0);
    ck_assert_int_eq(thrd_create(&thread, return_minus_seven, NULL), thrd_success);
    ck_assert_int_eq(thrd_detach(thread), thrd_success);
    ck_assert_int_eq(thrd_detach(thread), thrd_error);
    ck_assert_int_eq(thrd_join(thread, NULL), thrd_error);
}

TEST(a_join_gets_the_result_and_a_detached_thread_has_none)
{
    rig_check_finishes(RUN_COUNT, join_body);
}

static void keep_sum(void *value)
{
    destroyed_sum += *(const int *)value;
}

static int set_value(void *argument)
{
    ck_assert_ptr_null(tss_get(key));
    ck_assert_int_eq(tss_set(key, argument), thrd_success);
    thrd_yield();
    ck_assert_ptr_eq(tss_get(key), argument);
    if (*(const int *)argument == 1) {
        thrd_exit(0);
    }
    return 0;
}

static void key_body(void *context)
{
    (void)context;
    destroyed_sum = 0;
    ck_assert_int_eq(tss_create(&key, keep_sum), thrd_success);
    run_lanes(3, (int (*const[])(void *)){set_value, set_value, set_value});
    ck_assert_int_eq(destroyed_sum, 3);
    ck_assert_ptr_null(tss_get(key));
    tss_delete(key);
}

TEST(each_lane_has_its_own_value_and_its_end_runs_the_destructors)
{
    int outside = 0;
    ck_assert_int_eq(tss_create(&plain_key, NULL), thrd_success);
    ck_assert_int_eq(tss_set(plain_key, &outside), thrd_success);
    rig_check_finishes(RUN_COUNT, key_body);
    ck_assert_ptr_eq(tss_get(plain_key), &outside);
    tss_delete(plain_key);
}

static void sleep_body(void *context)
{
    (void)context;
    const struct timespec hour = {.tv_sec = 3600}, negative = {.tv_sec = -1};
    ck_assert_int_eq(thrd_sleep(&hour, NULL), 0);
    ck_assert_int_lt(thrd_sleep(&negative, NULL), -1);
    struct timespec now;
    ck_assert_int_eq(timespec_get(&now, TIME_UTC), TIME_UTC);
    ck_assert_int_eq((int)now.tv_sec, 3600);
}

TEST(a_sleep_costs_virtual_time_alone)
{
    rig_check_finishes(1, sleep_body);
}

/* --- outside of lanes --- */

TEST(outside_of_lanes_the_real_functions_answer)
{
    thrd_t thread;
    int result = 0;
    const struct timespec early = {.tv_nsec = 1};
    reset_state();
    ck_assert_int_eq(mtx_lock(&mutex_b), thrd_success);
    ck_assert_int_eq(mtx_trylock(&mutex_b), thrd_busy);
    ck_assert_int_eq(mtx_timedlock(&mutex_b, &early), thrd_timedout);
    ck_assert_int_eq(cnd_timedwait(&condition, &mutex_b, &early), thrd_timedout);
    ck_assert_int_eq(mtx_unlock(&mutex_b), thrd_success);
    ck_assert_int_eq(thrd_create(&thread, exit_with_nine, NULL), thrd_success);
    ck_assert_uint_gt(thread, LANE_COUNT_MAX * 1000);
    ck_assert_int_eq(thrd_join(thread, &result), thrd_success);
    ck_assert_int_eq(result, 9);
    ck_assert_int_eq(thrd_create(&thread, raise_for_all, NULL), thrd_success);
    ck_assert_int_eq(await_flag(NULL), 0);
    ck_assert_int_eq(thrd_join(thread, NULL), thrd_success);
    ck_assert_int_eq(thrd_sleep(&early, NULL), 0);
    cnd_destroy(&condition);
    mtx_destroy(&mutex_a);
}
