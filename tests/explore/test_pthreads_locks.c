/* What waits for who holds something: mutexes, read-write locks, spin locks, and their misuse. */
#include "explore/pthreads/pthreads.h"
#include "tests/explore/pthreads_rig.h"
#include "tests/helpers/suite.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RUN_COUNT = 400, ROUND_COUNT = 5 };

static pthread_mutex_t mutex_a, mutex_b;
static pthread_rwlock_t rwlock;
static pthread_spinlock_t spinlock;
static volatile int inside, total, writers, readers, readers_max, busy_count;

static void start_two(pthread_t threads[2], void *(*routine)(void *), void *(*other)(void *))
{
    inside = total = writers = readers = 0;
    ck_assert_int_eq(pthread_create(&threads[0], NULL, routine, NULL), 0);
    ck_assert_int_eq(pthread_create(&threads[1], NULL, other, NULL), 0);
}

static void join_two(const pthread_t threads[2])
{
    ck_assert_int_eq(pthread_join(threads[0], NULL), 0);
    ck_assert_int_eq(pthread_join(threads[1], NULL), 0);
}

/* A critical section with a point in it. */
static void be_alone(void)
{
    ck_assert_int_eq(inside++, 0);
    sched_yield();
    total++;
    ck_assert_int_eq(--inside, 0);
}

/* --- mutual exclusion --- */

static void *lock_rounds(void *argument)
{
    for (int i = 0; i < ROUND_COUNT; i++) {
        ck_assert_int_eq(pthread_mutex_lock(&mutex_a), 0);
        be_alone();
        ck_assert_int_eq(pthread_mutex_unlock(&mutex_a), 0);
    }
    return argument;
}

static void mutex_body(void *context)
{
    (void)context;
    pthread_t threads[2];
    pthread_mutex_init(&mutex_a, NULL);
    start_two(threads, lock_rounds, lock_rounds);
    join_two(threads);
    ck_assert_int_eq(total, 2 * ROUND_COUNT);
    ck_assert_int_eq(pthread_mutex_destroy(&mutex_a), 0);
}

EVERY_TEST(.begin = pthreads_link, .timeout_s = 300);

TEST(a_mutex_lets_one_lane_in_at_a_time)
{
    rig_check_finishes(RUN_COUNT, mutex_body);
}

static void *spin_rounds(void *argument)
{
    for (int i = 0; i < ROUND_COUNT; i++) {
        ck_assert_int_eq(pthread_spin_lock(&spinlock), 0);
        be_alone();
        ck_assert_int_eq(pthread_spin_unlock(&spinlock), 0);
    }
    return argument;
}

static void spin_body(void *context)
{
    (void)context;
    pthread_t threads[2];
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    start_two(threads, spin_rounds, spin_rounds);
    join_two(threads);
    ck_assert_int_eq(total, 2 * ROUND_COUNT);
    ck_assert_int_eq(pthread_spin_trylock(&spinlock), 0);
    ck_assert_int_eq(pthread_spin_trylock(&spinlock), EBUSY);
    ck_assert_int_eq(pthread_spin_unlock(&spinlock), 0);
    ck_assert_int_eq(pthread_spin_destroy(&spinlock), 0);
}

TEST(a_spin_lock_lets_one_lane_in_and_nobody_spins)
{
    rig_check_finishes(RUN_COUNT, spin_body);
}

static void *try_rounds(void *argument)
{
    for (int i = 0; i < ROUND_COUNT; i++) {
        const int error = pthread_mutex_trylock(&mutex_a);
        ck_assert(error == 0 || error == EBUSY);
        if (error == 0) {
            be_alone();
            pthread_mutex_unlock(&mutex_a);
        }
        busy_count += error == EBUSY;
    }
    return argument;
}

static void try_body(void *context)
{
    (void)context;
    pthread_t threads[2];
    pthread_mutex_init(&mutex_a, NULL);
    start_two(threads, try_rounds, lock_rounds);
    join_two(threads);
}

TEST(a_try_finds_the_mutex_free_or_busy_and_never_waits)
{
    busy_count = 0;
    rig_check_finishes(RUN_COUNT, try_body);
    ck_assert_int_gt(busy_count, 0);
    ck_assert_int_lt(busy_count, 2 * RUN_COUNT * ROUND_COUNT);
}

/* --- deadlocks --- */

static void *lock_a_then_b(void *argument)
{
    pthread_mutex_lock(&mutex_a);
    pthread_mutex_lock(&mutex_b);
    pthread_mutex_unlock(&mutex_b);
    pthread_mutex_unlock(&mutex_a);
    return argument;
}

static void *lock_b_then_a(void *argument)
{
    pthread_mutex_lock(&mutex_b);
    pthread_mutex_lock(&mutex_a);
    pthread_mutex_unlock(&mutex_a);
    pthread_mutex_unlock(&mutex_b);
    return argument;
}

static void inversion_body(void *context)
{
    (void)context;
    pthread_t threads[2];
    mutex_a = mutex_b = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    start_two(threads, lock_a_then_b, lock_b_then_a);
    join_two(threads);
}

TEST(two_locks_in_two_orders_deadlock_in_some_schedule_and_the_text_names_who_holds_what)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_DEADLOCK, inversion_body, text);
    unsigned first = 0, second = 0;
    const char *one = strstr(text, "lane 1 awaits mutex #");
    const char *two = strstr(text, "lane 2 awaits mutex #");
    ck_assert_msg(one != NULL && two != NULL, "%s", text);
    ck_assert_int_eq(sscanf(one, "lane 1 awaits mutex #%u, which lane 2 holds", &first), 1);
    ck_assert_int_eq(sscanf(two, "lane 2 awaits mutex #%u, which lane 1 holds", &second), 1);
    ck_assert_uint_ne(first, second);
    ck_assert_msg(strstr(one, ", which lane 2 holds since ") != NULL, "%s", text);
    ck_assert_msg(strstr(two, ", which lane 1 holds since ") != NULL, "%s", text);
}

static void relock_body(void *context)
{
    (void)context;
    mutex_a = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex_a);
    pthread_mutex_lock(&mutex_a);
}

TEST(who_locks_its_own_normal_mutex_waits_for_ever)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_DEADLOCK, relock_body, text);
    ck_assert_msg(strstr(text, "which lane 0 holds") != NULL, "%s", text);
}

/* --- the kinds of mutexes --- */

static void *find_taken(void *argument)
{
    ck_assert_int_eq(pthread_mutex_trylock(&mutex_a), EBUSY);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex_a), EPERM);
    return argument;
}

static void ask_another_lane(void)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, find_taken, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void init_with_type(int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    ck_assert_int_eq(pthread_mutex_init(&mutex_a, &attributes), 0);
    pthread_mutexattr_destroy(&attributes);
}

static void check_recursive(void)
{
    ck_assert_int_eq(pthread_mutex_lock(&mutex_a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&mutex_a), 0);
    ck_assert_int_eq(pthread_mutex_trylock(&mutex_a), 0);
    ask_another_lane();
    ck_assert_int_eq(pthread_mutex_unlock(&mutex_a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex_a), 0);
    ask_another_lane();
    ck_assert_int_eq(pthread_mutex_unlock(&mutex_a), 0);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex_a), EPERM);
    ck_assert_int_eq(pthread_mutex_destroy(&mutex_a), 0);
}

static void recursive_body(void *context)
{
    (void)context;
    init_with_type(PTHREAD_MUTEX_RECURSIVE);
    check_recursive();
    mutex_a = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    check_recursive();
}

static void errorcheck_body(void *context)
{
    (void)context;
    init_with_type(PTHREAD_MUTEX_ERRORCHECK);
    ck_assert_int_eq(pthread_mutex_unlock(&mutex_a), EPERM);
    ck_assert_int_eq(pthread_mutex_lock(&mutex_a), 0);
    ck_assert_int_eq(pthread_mutex_lock(&mutex_a), EDEADLK);
    ck_assert_int_eq(pthread_mutex_trylock(&mutex_a), EBUSY);
    ask_another_lane();
    ck_assert_int_eq(pthread_mutex_unlock(&mutex_a), 0);
    ck_assert_int_eq(pthread_mutex_destroy(&mutex_a), 0);
}

TEST(recursive_and_errorcheck_mutexes_answer_as_posix_says)
{
    rig_check_finishes(RUN_COUNT / 4, recursive_body);
    rig_check_finishes(RUN_COUNT / 4, errorcheck_body);
}

static void *lock_in_time(void *argument)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 3600;
    ck_assert_int_eq(pthread_mutex_timedlock(&mutex_a, &time), ETIMEDOUT);
    ck_assert_int_eq(pthread_mutex_clocklock(&mutex_a, CLOCK_MONOTONIC, &time), ETIMEDOUT);
    time.tv_nsec = 1000000000;
    ck_assert_int_eq(pthread_mutex_timedlock(&mutex_a, &time), EINVAL);
    clock_gettime(CLOCK_MONOTONIC, &time);
    ck_assert_int_ge((int)time.tv_sec, 3600);
    return argument;
}

static void timed_lock_body(void *context)
{
    (void)context;
    pthread_t thread;
    mutex_a = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex_a);
    pthread_create(&thread, NULL, lock_in_time, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_unlock(&mutex_a);
}

TEST(a_timed_lock_of_a_taken_mutex_ends_in_virtual_time)
{
    rig_check_finishes(RUN_COUNT, timed_lock_body);
}

/* --- misuse --- */

static void foreign_unlock_body(void *context)
{
    (void)context;
    mutex_a = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_unlock(&mutex_a);
}

static void locked_destroy_body(void *context)
{
    (void)context;
    pthread_mutex_init(&mutex_a, NULL);
    pthread_mutex_lock(&mutex_a);
    pthread_mutex_destroy(&mutex_a);
}

static void late_lock_body(void *context)
{
    (void)context;
    pthread_mutex_init(&mutex_a, NULL);
    pthread_mutex_destroy(&mutex_a);
    pthread_mutex_lock(&mutex_a);
}

static void foreign_rwlock_unlock_body(void *context)
{
    (void)context;
    pthread_rwlock_init(&rwlock, NULL);
    pthread_rwlock_unlock(&rwlock);
}

static void read_destroy_body(void *context)
{
    (void)context;
    pthread_rwlock_init(&rwlock, NULL);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_destroy(&rwlock);
}

static void foreign_spin_unlock_body(void *context)
{
    (void)context;
    pthread_spin_init(&spinlock, 0);
    pthread_spin_unlock(&spinlock);
}

static void check_misuse(void (*body)(void *), const char *words)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_MISUSE, body, text);
    ck_assert_msg(strstr(text, words) != NULL, "%s", text);
}

TEST(who_unlocks_what_it_does_not_hold_or_destroys_what_is_held_is_named)
{
    check_misuse(foreign_unlock_body, "lane 0 unlocks, without holding it, mutex #1, at ");
    check_misuse(locked_destroy_body,
                 "lane 0 destroys, while it is held, mutex #1 (held by lane 0), at ");
    check_misuse(late_lock_body, "lane 0 uses, after it was destroyed, mutex #");
    check_misuse(foreign_rwlock_unlock_body, "lane 0 unlocks, without holding it, rwlock #1");
    check_misuse(read_destroy_body, "lane 0 destroys, while it is read, rwlock #1");
    check_misuse(foreign_spin_unlock_body, "lane 0 unlocks, without holding it, spin lock #1");
}

static void *lock_once(void *argument)
{
    pthread_mutex_lock(&mutex_a);
    pthread_mutex_unlock(&mutex_a);
    return argument;
}

static void early_destroy_body(void *context)
{
    (void)context;
    pthread_t thread;
    pthread_mutex_init(&mutex_a, NULL);
    pthread_create(&thread, NULL, lock_once, NULL);
    pthread_mutex_destroy(&mutex_a);
    pthread_join(thread, NULL);
}

TEST(a_destroy_that_does_not_wait_for_the_others_is_found)
{
    char text[SCHEDULER_TEXT_BYTES];
    rig_check_finds(SCHEDULER_MISUSE, early_destroy_body, text);
}

/* --- read-write locks --- */

static void *read_rounds(void *argument)
{
    for (int i = 0; i < ROUND_COUNT; i++) {
        ck_assert_int_eq(pthread_rwlock_rdlock(&rwlock), 0);
        ck_assert_int_eq(writers, 0);
        readers++;
        readers_max = readers > readers_max ? readers : readers_max;
        ck_assert_int_eq(pthread_rwlock_tryrdlock(&rwlock), 0);
        ck_assert_int_eq(pthread_rwlock_trywrlock(&rwlock), EBUSY);
        ck_assert_int_eq(pthread_rwlock_unlock(&rwlock), 0);
        ck_assert_int_eq(writers, 0);
        readers--;
        ck_assert_int_eq(pthread_rwlock_unlock(&rwlock), 0);
    }
    return argument;
}

static void *write_rounds(void *argument)
{
    for (int i = 0; i < ROUND_COUNT; i++) {
        ck_assert_int_eq(pthread_rwlock_wrlock(&rwlock), 0);
        ck_assert_int_eq(readers, 0);
        ck_assert_int_eq(writers++, 0);
        sched_yield();
        ck_assert_int_eq(pthread_rwlock_rdlock(&rwlock), EDEADLK);
        ck_assert_int_eq(readers, 0);
        writers--;
        ck_assert_int_eq(pthread_rwlock_unlock(&rwlock), 0);
    }
    return argument;
}

static void rwlock_body(void *context)
{
    (void)context;
    pthread_t threads[2], third;
    pthread_rwlock_init(&rwlock, NULL);
    start_two(threads, read_rounds, read_rounds);
    pthread_create(&third, NULL, write_rounds, NULL);
    join_two(threads);
    pthread_join(third, NULL);
    ck_assert_int_eq(pthread_rwlock_destroy(&rwlock), 0);
}

TEST(readers_share_a_rwlock_and_a_writer_is_alone)
{
    readers_max = 0;
    rig_check_finishes(RUN_COUNT, rwlock_body);
    ck_assert_int_eq(readers_max, 2);
}
