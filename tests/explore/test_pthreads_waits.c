/* What lanes wait for unseen: spins, raw futexes, readers of a pipe. */
#include "explore/pthreads/pthreads.h"
#include "tests/explore/pthreads_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

EVERY_TEST(.begin = pthreads_link, .timeout_s = 300);

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
