/* The threads of C11: what their pthread counterparts do, they do, with the results of C11.  What
 * waits for others is in the files of programs/. */
#include "explore/pthreads/pthreads.h"
#include "tests/explore/programs.h"
#include "tests/explore/pthreads_rig.h"
#include "tests/helpers/suite.h"

#include <errno.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

enum { RUN_COUNT = 400, LANE_MAX = 4 };

static mtx_t mutexes[2];
static cnd_t condition;
static once_flag once;
static tss_t key, plain_key;
static thrd_t threads[LANE_MAX];
static volatile int destroyed_sum;
static int numbers[] = {0, 1, 2};

static const struct program_object objects[] = {{"a", "mutex", &mutexes[0]},
                                                {"b", "mutex", &mutexes[1]},
                                                {"c", "condition", &condition},
                                                {"o", "once", &once}};

static int number_result(int result)
{
    switch (result) {
    case thrd_success:
        return 0;
    case thrd_busy:
        return EBUSY;
    case thrd_timedout:
        return ETIMEDOUT;
    default:
        return EPERM;
    }
}

static struct timespec time_after(long seconds)
{
    struct timespec time;
    ck_assert_int_eq(timespec_get(&time, TIME_UTC), TIME_UTC);
    time.tv_sec += seconds;
    return time;
}

#define UNTIL ((struct timespec[]){time_after(argument)})
#define FOR ((const struct timespec[]){{.tv_sec = argument}})
/* The calls: a sort of object, a word, and what is called with it and an argument. */
#define EACH_CALL(X)                                                                \
    X(mutex, init, mtx_init(object, object == &mutexes[1] ? mtx_timed : mtx_plain)) \
    X(mutex, init_recursive, mtx_init(object, mtx_plain | mtx_recursive))           \
    X(mutex, lock, mtx_lock(object))                                                \
    X(mutex, trylock, mtx_trylock(object))                                          \
    X(mutex, timedlock, mtx_timedlock(object, UNTIL))                               \
    X(mutex, unlock, mtx_unlock(object))                                            \
    X(mutex, destroy, (mtx_destroy(object), thrd_success))                          \
    X(condition, init, cnd_init(object))                                            \
    X(condition, wait, cnd_wait(object, &mutexes[0]))                               \
    X(condition, timedwait, cnd_timedwait(object, &mutexes[0], UNTIL))              \
    X(condition, signal, cnd_signal(object))                                        \
    X(condition, broadcast, cnd_broadcast(object))                                  \
    X(condition, destroy, (cnd_destroy(object), thrd_success))                      \
    X(once, init, (*(once_flag *)object = (once_flag)ONCE_FLAG_INIT, thrd_success)) \
    X(once, call, (call_once(object, program_initialise), thrd_success))            \
    X(none, sleep, thrd_sleep(FOR, NULL) == 0 ? thrd_success : thrd_error)

#define DEFINE_CALL(sort, word, expression)                      \
    static int call_##sort##_##word(void *object, long argument) \
    {                                                            \
        (void)object;                                            \
        (void)argument;                                          \
        return number_result(expression);                        \
    }
EACH_CALL(DEFINE_CALL)

#define ROW_OF_CALL(sort, word, expression) {#word, #sort, call_##sort##_##word},
static const struct program_call calls[] = {EACH_CALL(ROW_OF_CALL)};

static int run_lane(void *block)
{
    program_lane(block);
    return 0;
}

static void start_lane(size_t lane, void *block)
{
    ck_assert_uint_lt(lane, LANE_MAX);
    ck_assert_int_eq(thrd_create(&threads[lane], run_lane, block), thrd_success);
}

static void join_lane(size_t lane)
{
    ck_assert_int_eq(thrd_join(threads[lane], NULL), thrd_success);
}

const struct program_library program_library = {
    .is_c11 = true,
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
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(thrd_create(&threads[i], set_value, &numbers[i]), thrd_success);
    }
    for (size_t i = 0; i < 3; i++) {
        join_lane(i);
    }
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

TEST(outside_of_lanes_the_real_function_makes_a_thread)
{
    thrd_t thread;
    int result = 0;
    ck_assert_int_eq(thrd_create(&thread, exit_with_nine, NULL), thrd_success);
    ck_assert_uint_gt(thread, LANE_COUNT_MAX * 1000);
    ck_assert_int_eq(thrd_join(thread, &result), thrd_success);
    ck_assert_int_eq(result, 9);
}
