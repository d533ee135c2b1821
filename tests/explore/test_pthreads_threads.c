/* Threads that are lanes: their life, their ids, their keys, their time; and calls from outside of
 * lanes. */
#include "explore/pthreads/pthreads.h"
#include "tests/explore/pthreads_rig.h"
#include "tests/helpers/suite.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { RUN_COUNT = 300 };

static pthread_key_t key, plain_key, early_key;
static int destroyed_sum, destructor_calls;
static pthread_t id_of_lane;

/* --- life --- */

static void *give_back(void *argument)
{
    return argument;
}

static void *leave_early(void *argument)
{
    pthread_exit((char *)argument + 1);
}

static void *note_id(void *argument)
{
    id_of_lane = pthread_self();
    return argument;
}

static void join_body(void *context)
{
    (void)context;
    char words[2];
    void *result;
    pthread_t thread;
    pthread_create(&thread, NULL, give_back, words);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, words);
    ck_assert_int_eq(pthread_join(thread, &result), EINVAL);
    pthread_create(&thread, NULL, leave_early, words);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, words + 1);
    ck_assert_int_eq(pthread_join(pthread_self(), NULL), EDEADLK);
    ck_assert_int_eq(pthread_join(thread + 1, NULL), ESRCH);
}

static void make_early_key_and_link(void)
{
    pthread_key_create(&early_key, NULL);
    pthreads_link();
}

EVERY_TEST(.begin = make_early_key_and_link, .timeout_s = 300);

TEST(a_join_waits_for_the_thread_and_gets_its_result)
{
    rig_check_finishes(RUN_COUNT, join_body);
}

static void detach_body(void *context)
{
    (void)context;
    pthread_t first, second;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&first, &attributes, give_back, NULL);
    pthread_attr_destroy(&attributes);
    pthread_create(&second, NULL, give_back, NULL);
    ck_assert_int_eq(pthread_join(first, NULL), EINVAL);
    ck_assert_int_eq(pthread_detach(second), 0);
    ck_assert_int_eq(pthread_detach(second), EINVAL);
    ck_assert_int_eq(pthread_join(second, NULL), EINVAL);
}

TEST(a_detached_thread_cannot_be_joined_and_the_run_waits_for_it)
{
    rig_check_finishes(RUN_COUNT, detach_body);
}

static void id_body(void *context)
{
    (void)context;
    char name[16];
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_create(&thread, NULL, note_id, NULL);
    pthread_join(thread, NULL);
    ck_assert(pthread_equal(thread, id_of_lane));
    ck_assert(!pthread_equal(thread, pthread_self()));
    ck_assert_int_eq(pthread_setname_np(thread, "name"), 0);
    ck_assert_int_eq(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    ck_assert_str_eq(name, "lane 0");
    ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_destroy(&attributes);
    ck_assert_int_eq(pthread_kill(thread, 0), 0);
    ck_assert_int_eq(pthread_cancel(thread), ENOTSUP);
}

TEST(a_lane_has_an_id_that_other_functions_take)
{
    rig_check_finishes(1, id_body);
    ck_assert_int_eq(pthread_join(id_of_lane, NULL), ESRCH);
    ck_assert(!pthread_equal(pthread_self(), id_of_lane));
}

static void *wait_a_second(void *argument)
{
    sleep(1);
    return argument;
}

static void timed_join_body(void *context)
{
    (void)context;
    pthread_t thread;
    struct timespec time = {.tv_sec = 30};
    pthread_create(&thread, NULL, wait_a_second, NULL);
    const int error = pthread_tryjoin_np(thread, NULL);
    ck_assert(error == 0 || error == EBUSY);
    if (error == EBUSY) {
        const int late = pthread_timedjoin_np(thread, NULL, &time);
        ck_assert(late == 0 || late == ETIMEDOUT);
    }
}

TEST(a_join_may_try_or_end_by_time)
{
    rig_check_finishes(RUN_COUNT, timed_join_body);
}

static void crowd_body(void *context)
{
    (void)context;
    pthread_t thread;
    for (int i = 1; i < LANE_COUNT_MAX; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, give_back, NULL), 0);
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, give_back, NULL), EAGAIN);
}

TEST(one_thread_too_many_is_refused)
{
    rig_check_finishes(2, crowd_body);
}

/* --- keys --- */

static int numbers[] = {0, 1, 2, 4};

static void destroy_number(void *value)
{
    destructor_calls++;
    destroyed_sum += *(int *)value;
    if (value == &numbers[1]) {
        pthread_setspecific(key, &numbers[3]); /* asks for another round */
    }
}

static void *use_keys(void *argument)
{
    ck_assert_ptr_null(pthread_getspecific(key));
    ck_assert_ptr_null(pthread_getspecific(plain_key));
    ck_assert_int_eq(pthread_setspecific(key, argument), 0);
    ck_assert_int_eq(pthread_setspecific(plain_key, argument), 0);
    sched_yield();
    ck_assert_ptr_eq(pthread_getspecific(key), argument);
    ck_assert_ptr_eq(pthread_getspecific(plain_key), argument);
    return argument;
}

static void key_body(void *context)
{
    (void)context;
    pthread_t first, second;
    destroyed_sum = destructor_calls = 0;
    ck_assert_int_eq(pthread_key_create(&key, destroy_number), 0);
    ck_assert_ptr_null(pthread_getspecific(plain_key));
    pthread_create(&first, NULL, use_keys, &numbers[1]);
    pthread_create(&second, NULL, use_keys, &numbers[2]);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    ck_assert_int_eq(destroyed_sum, 1 + 2 + 4);
    ck_assert_int_eq(destructor_calls, 3);
    pthread_setspecific(key, &numbers[2]);
    pthreads_lane_end();
    ck_assert_int_eq(destructor_calls, 4);
    pthread_setspecific(key, &numbers[2]);
    ck_assert_int_eq(pthread_key_delete(key), 0);
    ck_assert_int_eq(pthread_key_create(&key, destroy_number), 0);
    ck_assert_ptr_null(pthread_getspecific(key));
    ck_assert_int_eq(pthread_key_delete(key), 0);
}

TEST(each_lane_has_its_own_value_of_a_key_and_its_end_runs_the_destructors)
{
    int outside = 0;
    pthread_key_create(&plain_key, NULL);
    pthread_setspecific(plain_key, &outside);
    rig_check_finishes(RUN_COUNT, key_body);
    ck_assert_ptr_eq(pthread_getspecific(plain_key), &outside);
    pthread_key_delete(plain_key);
}

#ifndef EXPLORE_REAL_LOCKS /* that build has no fibers, and each lane is another real thread */
static void early_key_body(void *context)
{
    (void)context;
    ck_assert_ptr_eq(pthread_getspecific(early_key), &early_key);
}

TEST(a_key_from_before_the_link_belongs_to_the_real_thread)
{
    struct outcomes outcomes;
    pthread_setspecific(early_key, &early_key);
    rig_run(SCHEDULER_FIBERS, 1, early_key_body, &outcomes);
    ck_assert_uint_eq(outcomes.counts[SCHEDULER_FINISHED], 1);
}
#endif

/* --- time --- */

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    ck_assert_int_eq(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void time_body(void *context)
{
    (void)context;
    struct timeval day;
    const struct timespec minute = {.tv_sec = 60}, negative = {.tv_sec = -1},
                          absolute = {.tv_sec = 7200};
    ck_assert_uint_lt(now_ns(CLOCK_MONOTONIC), 1000000);
    ck_assert_uint_lt(now_ns(CLOCK_REALTIME_COARSE), 1000000);
    sleep(3000);
    ck_assert_uint_ge(now_ns(CLOCK_MONOTONIC_RAW), UINT64_C(3000000000000));
    ck_assert_int_eq(nanosleep(&minute, NULL), 0);
    ck_assert_int_eq(nanosleep(&negative, NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(usleep(1000000), 0);
    ck_assert_int_eq((int)time(NULL), 3061);
    ck_assert_int_eq(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &absolute, NULL), 0);
    ck_assert_int_eq(gettimeofday(&day, NULL), 0);
    ck_assert_int_eq((int)day.tv_sec, 7200);
}

TEST(time_in_a_lane_is_virtual_and_sleeping_costs_none)
{
    const uint64_t before = now_ns(CLOCK_MONOTONIC);
    rig_check_finishes(1, time_body);
    ck_assert_uint_lt(now_ns(CLOCK_MONOTONIC) - before, UINT64_C(3000000000000));
}

/* --- outside of lanes --- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

static void *take_turn(void *argument)
{
    pthread_mutex_lock(&mutex);
    turn = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_setspecific(key, argument);
    return argument;
}

static void keep_sum(void *value)
{
    destroyed_sum = *(int *)value;
}

TEST(outside_of_lanes_the_real_functions_answer)
{
    pthread_t thread;
    void *result;
    ck_assert_int_eq(pthread_key_create(&key, keep_sum), 0);
    ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
    ck_assert_int_ne(mutex.__data.__owner, 0); /* the real one took it */
    ck_assert_int_eq(pthread_mutex_trylock(&mutex), EBUSY);
    ck_assert_int_eq(pthread_create(&thread, NULL, take_turn, &numbers[2]), 0);
    while (turn == 0) {
        ck_assert_int_eq(pthread_cond_wait(&condition, &mutex), 0);
    }
    ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_eq(result, &numbers[2]);
    ck_assert_int_eq(destroyed_sum, 2);
    ck_assert_uint_gt(thread, LANE_COUNT_MAX * 1000);
    ck_assert_uint_gt(now_ns(CLOCK_REALTIME), UINT64_C(1500000000000000000));
}

/* --- a shared object --- */

static int (*lock_both)(int first);

static void *lock_upwards(void *argument)
{
    ck_assert_int_eq(lock_both(0), 0);
    return argument;
}

static void *lock_downwards(void *argument)
{
    ck_assert_int_eq(lock_both(1), 0);
    return argument;
}

static void plugin_body(void *context)
{
    (void)context;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, lock_upwards, NULL);
    pthread_create(&threads[1], NULL, lock_downwards, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

TEST(the_calls_of_a_shared_object_as_it_is_are_steps)
{
    char text[SCHEDULER_TEXT_BYTES];
    void *plugin = dlopen(HBMSTRESS_BINARY_DIR "/tests/explore/pthreads_plugin.so",
                          RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(plugin != NULL, "%s", dlerror());
    *(void **)&lock_both = dlsym(plugin, "plugin_lock_both");
    ck_assert(lock_both != NULL);
    ck_assert_int_eq(lock_both(0), 0);
    rig_check_finds(SCHEDULER_DEADLOCK, plugin_body, text);
    ck_assert_msg(strstr(text, "(pthreads_plugin.so)") != NULL, "%s", text);
    dlclose(plugin);
}
