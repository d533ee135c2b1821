/* Processes that run trials: each answers with what its trial came to, and one that dies or never
 * returns costs that trial alone. */
#include "campaign/process/guest.h"
#include "campaign/trials/trials.h"
#include "targets/targets.h"
#include "tests/campaign/calls.h"
#include "tests/campaign/shown.h"
#include "tests/campaign/trials/trial_player.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

EVERY_TEST(.teardown = snap_rest);

#define HEAD "hbmstress-ops 1\ncapacity 16K\ntarget hbm\n0: alloc size=1K\n"
#define FAR_NS UINT64_C(60000000000)
enum { WAIT_MS = 1000, TURN_COUNT_MAX = 100 };

static struct part part;
static struct plan plan;
static struct workers *workers;

/* libhbm, but a defragmentation is what the test wants it to be. */
static struct target special;

/* How often the process is still to be killed from outside; all processes share it. */
static volatile int *kills_left;

DEFRAGMENT(die_of_signal)
{
    (void)raise(SIGSEGV);
    return TARGET_OK;
}

DEFRAGMENT(be_killed)
{
    if (*kills_left > 0) {
        --*kills_left;
        (void)kill(getpid(), SIGKILL);
    }
    return TARGET_OK;
}

DEFRAGMENT(wait_for_ever)
{
    for (volatile bool is_waiting = true; is_waiting;) {
        (void)pause();
    }
    return TARGET_OK;
}

enum { FILE_COUNT = 64, FILE_COUNT_MAX = 4096 };

/* What no result is. */
static void write_nonsense(int file_count)
{
    static const char nonsense[] = "\3\0\0\0\0\0\0\0abc";
    for (int file = 3; file < file_count; file++) {
        (void)!write(file, nonsense, sizeof nonsense - 1);
    }
}

DEFRAGMENT(write_to_low_files)
{
    write_nonsense(FILE_COUNT);
    return TARGET_OK;
}

DEFRAGMENT(write_to_all_files)
{
    write_nonsense(FILE_COUNT_MAX);
    return TARGET_OK;
}

DEFRAGMENT(close_all_files)
{
    (void)close_range(3, ~0U, 0);
    return TARGET_OK;
}

/* The harness's own are still there: it just has others behind them. */
DEFRAGMENT(replace_all_files)
{
    const struct rlimit limit = {FILE_COUNT_MAX, FILE_COUNT_MAX};
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    for (int file = 3; file < FILE_COUNT_MAX; file++) {
        if (fcntl(file, F_GETFD) >= 0) {
            (void)dup2(STDIN_FILENO, file);
        }
    }
    return TARGET_OK;
}

DEFRAGMENT(stop_once)
{
    if (*kills_left > 0) {
        --*kills_left;
        (void)raise(SIGSTOP);
    }
    return TARGET_OK;
}

/* No signal tells it that its time is over. */
DEFRAGMENT(spin_behind_a_mask)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    for (volatile bool goes_on = true; goes_on;) {
    }
    return TARGET_OK;
}

/* Both processes come back, and neither the other, nor one beside it, goes on. */
DEFRAGMENT(fork_and_return)
{
    if (fork() == 0 && fork() == 0) {
        (void)setsid();
        (void)pause();
    }
    return TARGET_OK;
}

DEFRAGMENT(print_words)
{
    (void)printf("on output\n");
    (void)fprintf(stderr, "on error\n");
    return TARGET_OK;
}

DEFRAGMENT(print_much)
{
    (void)printf("first\n");
    for (int i = 0; i < 30000; i++) {
        (void)printf("%0100d\n", i);
    }
    (void)printf("last\n");
    return TARGET_OK;
}

static void begin_workers(const char *text,
                          enum target_result (*defragment)(struct target_instance *instance),
                          uint32_t count, uint64_t timeout_ns)
{
    trial_player_load(text, "the part", &part);
    special = *part.target;
    if (defragment != NULL) {
        special.defragment = defragment;
    }
    part.target = &special;
    plan = (struct plan){.parts = &part, .count = 1, .shard_count = 1};
    kills_left = mmap(NULL, sizeof *kills_left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      -1, 0);
    ck_assert_ptr_ne((void *)kills_left, MAP_FAILED);
    workers = workers_create(&plan, count, timeout_ns);
    ck_assert_ptr_nonnull(workers);
}

static void end_workers(void)
{
    workers_destroy(workers);
    op_list_deinit(&trial_player_ops);
    (void)munmap((void *)kills_left, sizeof *kills_left);
}

static void start_trial(uint64_t trial)
{
    const struct task task = {.trial = trial, .op_count_max = 100};
    ck_assert(workers_start(workers, &task));
}

/* Shows the next answer.  The caller deinitialises it. */
static struct trial_result take_whole(void)
{
    struct trial_result result;
    enum workers_result taken = WORKERS_NOTHING;
    trial_result_init(&result);
    for (int i = 0; taken == WORKERS_NOTHING && i < TURN_COUNT_MAX; i++) {
        taken = workers_take(workers, WAIT_MS, &result);
    }
    ck_assert_int_eq(taken, WORKERS_READY);
    show_trial(&result);
    return result;
}

static void take_result(void)
{
    struct trial_result result = take_whole();
    trial_result_deinit(&result);
}

TEST(as_many_workers_run_as_are_asked_for)
{
    struct run_options options = {.worker_count = 7};
    ck_assert_uint_eq(workers_wanted(&options), 7);
    options.worker_count = 0;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    ck_assert_uint_eq(workers_wanted(&options), processors > 64 ? 64 : (uint32_t)processors);
}

TEST(each_worker_has_one_trial_at_a_time)
{
    struct trial_result none;
    uint64_t seen = 0;
    begin_workers(HEAD "1: alloc size=2K\n", NULL, 2, FAR_NS);
    trial_result_init(&none);
    ck_assert(workers_have_idle(workers) && !workers_have_busy(workers));
    ck_assert_int_eq(workers_take(workers, 0, &none), WORKERS_NOTHING);
    for (uint64_t i = 0; i < 6; i += 2) {
        start_trial(i);
        ck_assert(workers_have_idle(workers) && workers_have_busy(workers));
        start_trial(i + 1);
        ck_assert(!workers_have_idle(workers) && workers_have_busy(workers));
        for (int k = 0; k < 2; k++) {
            struct trial_result result = take_whole();
            (void)shown_take(); /* either may be first */
            ck_assert_int_eq(result.head.end, TRIAL_RESULT_DONE);
            ck_assert_uint_eq(result.head.totals.ops, 2);
            seen |= UINT64_C(1) << result.head.task.trial;
            trial_result_deinit(&result);
            ck_assert(workers_have_idle(workers));
        }
        ck_assert(!workers_have_busy(workers));
    }
    ck_assert_uint_eq(seen, 63);
    trial_result_deinit(&none);
    end_workers();
}

/* What breaks a promise in each trial: a report with a row too many would do, too. */
DEFRAGMENT(refuse)
{
    return TARGET_INVALID;
}

TEST(a_finding_comes_with_the_trials_that_its_process_ran_before)
{
    begin_workers(HEAD "1: defragment\n", refuse, 1, FAR_NS);
    for (uint64_t i = 5; i < 8; i++) {
        start_trial(i);
        struct trial_result result = take_whole();
        for (size_t k = 0; k < result.earlier.count; k++) {
            const struct task *task = &result.earlier.tasks[k].task;
            SHOW(task->trial, task->op_count_max);
        }
        trial_result_deinit(&result);
    }
    end_workers();
}

TEST(a_worker_that_dies_costs_its_trial_and_is_replaced)
{
    begin_workers(HEAD "1: defragment\n2: alloc size=2K\n", die_of_signal, 1, FAR_NS);
    int free_before = -1;
    for (uint64_t i = 0; i < 3; i++) {
        start_trial(i); /* in a new process: nothing ran before */
        struct trial_result result = take_whole();
        (void)shown_take(); /* with the line of the code, where the build has those */
        ck_assert_int_eq(result.head.end, TRIAL_RESULT_CRASHED);
        ck_assert_uint_eq(result.head.task.trial, i);
        ck_assert_str_eq(result.head.signature, "crash: SIGSEGV at die_of_signal");
        ck_assert_uint_eq(result.head.first.op, 1);
        ck_assert_uint_eq(result.head.totals.ops, 2);
        trial_result_deinit(&result);
        ck_assert(workers_have_idle(workers) && !workers_have_busy(workers));
        const int free_behind = dup(STDIN_FILENO);
        close(free_behind);
        /* Its files were closed with it; who looks for the names of code keeps one of its own. */
        ck_assert(i == 0 || free_behind <= free_before);
        free_before = free_behind;
    }
    end_workers();
}

/* Who sends SIGKILL may be anybody: only the second time in one trial it is laid on the target. */
TEST(a_worker_that_is_killed_runs_its_trial_once_more)
{
    begin_workers(HEAD "1: defragment\n2: alloc size=2K\n", be_killed, 1, FAR_NS);
    for (uint64_t i = 0; i < 3; i++) {
        *kills_left = i == 2 ? 3 : 1;
        start_trial(i);
        take_result();
        SHOW(*kills_left);
    }
    end_workers();
}

TEST(a_trial_that_takes_too_long_is_a_hang)
{
    begin_workers(HEAD "1: defragment\n", wait_for_ever, 2, UINT64_C(100000000));
    start_trial(4);
    struct trial_result early;
    trial_result_init(&early);
    ck_assert_int_eq(workers_take(workers, 0, &early), WORKERS_NOTHING);
    trial_result_deinit(&early);
    take_result();
    ck_assert(!workers_have_busy(workers));
    end_workers();
}

/* Shows one trial that all is over with, and appends what it printed. */
static void run_one(enum target_result (*defragment)(struct target_instance *),
                    struct writing *output)
{
    begin_workers(HEAD "1: defragment\n2: alloc size=2K\n", defragment, 1, FAR_NS);
    start_trial(0);
    struct trial_result result = take_whole();
    if (output != NULL) {
        writing_append_bytes(output, result.output.bytes, result.output.length);
    }
    trial_result_deinit(&result);
    end_workers();
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* nothing of it stays */
    ck_assert_int_eq(errno, ECHILD);
}

TEST(a_target_that_writes_to_low_descriptors_reaches_none_of_ours)
{
    run_one(write_to_low_files, NULL);
}

TEST(damage_to_the_descriptors_of_the_harness_is_the_targets_crash)
{
    enum target_result (*const damages[])(struct target_instance *) = {
        write_to_all_files, close_all_files, replace_all_files};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        run_one(damages[i], NULL);
        const char *said = shown_take(); /* it may come to the next op before it is seen */
        ck_assert_ptr_nonnull(strstr(said, "trial 0 crashed: "));
        ck_assert_ptr_nonnull(
            strstr(said, "crash: damaged a descriptor of the harness, is selected"));
    }
}

TEST(a_worker_that_is_stopped_runs_its_trial_once_more)
{
    begin_workers(HEAD "1: defragment\n2: alloc size=2K\n", stop_once, 1, FAR_NS);
    for (uint64_t i = 0; i < 2; i++) {
        *kills_left = (int)i + 1;
        start_trial(i);
        take_result();
    }
    end_workers();
}

TEST(a_call_that_blocks_signals_or_waits_is_a_hang_within_its_bound)
{
    death_set_op_timeout(UINT64_C(100000000));
    run_one(spin_behind_a_mask, NULL);
    run_one(wait_for_ever, NULL);
}

TEST(a_process_that_the_target_forks_neither_answers_nor_stays)
{
    run_one(fork_and_return, NULL);
}

TEST(what_a_target_prints_is_kept_with_its_trial)
{
    struct writing output;
    writing_init(&output);
    run_one(print_words, &output);
    ck_assert_str_eq(writing_string(&output), "on output\non error\n");
    writing_clear(&output);
    run_one(print_much, &output);
    ck_assert_uint_le(output.length, GUEST_OUTPUT_BYTES + 100);
    ck_assert_int_eq(strncmp(output.bytes, "first\n", 6), 0);
    ck_assert_str_eq(output.bytes + output.length - 5, "last\n");
    writing_deinit(&output);
}

/* Under way when all ends, and with an answer that nobody took. */
TEST(workers_end_in_the_middle_of_a_trial)
{
    begin_workers(HEAD "1: defragment\n", wait_for_ever, 2, FAR_NS);
    start_trial(0);
    end_workers();
}
