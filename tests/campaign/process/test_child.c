/* Processes of ours: what they answer, how their end is told, and that nothing of them stays. */
#include "campaign/base/interrupt.h"
#include "campaign/process/attempt.h"
#include "campaign/process/background.h"
#include "campaign/process/child.h"
#include "campaign/process/death.h"
#include "explore/strategies/strategies.h"
#include "harness/base/check.h"
#include "targets/targets.h"
#include "tests/campaign/calls.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/races.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAR_NS UINT64_C(60000000000)
enum { LARGE_BYTES = 300000 };

/* The lowest number that a file would get now. */
static int find_free_file(void)
{
    const int file = dup(STDIN_FILENO);
    ck_assert_int_ge(file, 0);
    close(file);
    return file;
}

/* What a child answers, how it ended, and that in words. */
static struct writing answer;
static struct death *death;
static char words[CHILD_DEATH_BYTES];

static void begin(void)
{
    writing_init(&answer);
    death = shared_memory_create(sizeof *death);
    ck_assert_ptr_nonnull(death);
}

static void end(void)
{
    snap_rest();
    writing_deinit(&answer);
    shared_memory_destroy(death, sizeof *death);
}

static enum child_end run(void (*work)(void *context, int file), void *context)
{
    return child_run(work, context, FAR_NS, false, &answer, words);
}

EVERY_TEST(.setup = begin, .teardown = end);

static void check_no_child(void)
{
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

/* --- reading and writing --- */

TEST(all_is_read_and_written_or_it_is_told)
{
    static char sent[LARGE_BYTES], got[LARGE_BYTES];
    int files[2];
    for (size_t i = 0; i < sizeof sent; i++) {
        sent[i] = (char)(i % 251);
    }
    ck_assert_int_eq(pipe(files), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        close(files[0]);
        _exit(file_write_all(files[1], sent, sizeof sent) ? 7 : 1);
    }
    close(files[1]);
    ck_assert(file_read_all(files[0], got, 1000));
    ck_assert(file_read_all(files[0], got + 1000, sizeof got - 1000));
    ck_assert_int_eq(memcmp(sent, got, sizeof sent), 0);
    ck_assert(file_read_all(files[0], got, 0));
    ck_assert(!file_read_all(files[0], got, 1)); /* it has ended */
    close(files[0]);
    int status;
    ck_assert_int_eq(waitpid(writer, &status, 0), writer);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    ck_assert_int_eq(pipe(files), 0);
    ck_assert_ptr_ne(signal(SIGPIPE, SIG_IGN), SIG_ERR);
    ck_assert_int_eq(write(files[1], "abc", 3), 3);
    close(files[1]);
    ck_assert(!file_read_all(files[0], got, 4)); /* there are three */
    close(files[0]);
    ck_assert_int_eq(pipe(files), 0);
    close(files[0]);
    ck_assert(!file_write_all(files[1], sent, 1));
    close(files[1]);
}

/* --- one piece of work --- */

WORK(answer_much)
{
    static char bytes[LARGE_BYTES];
    memset(bytes, *(const char *)context, sizeof bytes);
    CHECK(file_write_all(file, bytes, sizeof bytes));
}

WORK(exit_with_three)
{
    exit(3);
}

WORK(wait_for_ever)
{
    (void)!write(file, "x", 1);
    for (volatile bool is_waiting = true; is_waiting;) {
        (void)pause();
    }
}

TEST(an_answer_comes_whole_and_nothing_of_its_process_stays)
{
    char letter = 'q';
    writing_append(&answer, "before");
    const int free_file = find_free_file();
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(run(answer_much, &letter), CHILD_DONE);
        ck_assert_str_eq(words, "");
        ck_assert_uint_eq(answer.length, strlen("before") + (size_t)(i + 1) * LARGE_BYTES);
        ck_assert_int_eq(answer.bytes[answer.length - 1], 'q');
        ck_assert_int_eq(find_free_file(), free_file);
        check_no_child();
    }
    ck_assert_int_eq(run(exit_with_three, NULL), CHILD_DIED);
    ck_assert_str_eq(words, "exit status 3");
    ck_assert_int_eq(find_free_file(), free_file);
    check_no_child();
}

/* How often it was called, in whichever process. */
static volatile int *exit_calls;

static void count_exit(void)
{
    ++*exit_calls;
}

/* What the parent wants done at its own end. */
TEST(what_is_called_at_exit_is_not_called_in_a_child)
{
    exit_calls = mmap(NULL, sizeof *exit_calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      -1, 0);
    ck_assert_ptr_ne((void *)exit_calls, MAP_FAILED);
    ck_assert_int_eq(atexit(count_exit), 0);
    ck_assert_int_eq(run(exit_with_three, NULL), CHILD_DIED);
    ck_assert_int_eq(*exit_calls, 0);
}

static unsigned heard_count;

static void drop_what_came(struct writing *heard)
{
    heard_count++;
    writing_clear(heard);
}

TEST(what_is_no_longer_needed_of_an_answer_may_be_dropped)
{
    char letter = 'q';
    const struct child_job job = {.work = answer_much,
                                  .context = &letter,
                                  .duration_ns = UINT64_MAX,
                                  .heard = drop_what_came};
    ck_assert_int_eq(child_work(&job, &answer, death), CHILD_DONE);
    ck_assert_uint_gt(heard_count, 1); /* a pipe does not hold all of it */
    ck_assert_uint_eq(answer.length, 0);
}

TEST(work_that_takes_too_long_is_stopped_as_a_hang)
{
    const struct child_job job = {.work = wait_for_ever, .duration_ns = 1000000};
    const int free_file = find_free_file();
    ck_assert_int_eq(child_work(&job, &answer, death), CHILD_STOPPED);
    ck_assert_int_eq(death->kind, DEATH_HANG);
    ck_assert_int_eq(find_free_file(), free_file);
    check_no_child();
}

TEST(an_interrupt_stops_what_may_be_interrupted)
{
    char letter = 'q';
    struct child_job job = {.work = wait_for_ever, .duration_ns = FAR_NS, .is_interruptible = true};
    interrupt_install();
    ck_assert(!interrupt_is_requested());
    ck_assert_int_eq(raise(SIGINT), 0);
    ck_assert(interrupt_is_requested());
    ck_assert_int_eq(child_work(&job, &answer, death), CHILD_STOPPED);
    ck_assert_int_eq(death->kind, DEATH_NONE); /* no hang: the user did it */
    job = (struct child_job){.work = answer_much, .context = &letter, .duration_ns = FAR_NS};
    writing_clear(&answer);
    ck_assert_int_eq(child_work(&job, &answer, death), CHILD_DONE);
    ck_assert_uint_eq(answer.length, LARGE_BYTES);
    job = (struct child_job){.work = wait_for_ever, .duration_ns = 1000000};
    ck_assert_int_eq(child_work(&job, &answer, death), CHILD_STOPPED);
    ck_assert_int_eq(death->kind, DEATH_HANG);
}

/* One call that takes a part of the time that it may. */
WORK(work_a_while)
{
    struct timespec used = {0, 0};
    progress_begin(PROGRESS_OP, OP_ALLOC, 0);
    while (used.tv_sec == 0 && used.tv_nsec < *(const long *)context) {
        CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
    }
    progress_end();
}

TEST(a_slow_call_is_no_hang)
{
    long busy_ns = 90000000; /* some ticks of 25 ms */
    const struct child_job job = {.work = work_a_while,
                                  .context = &busy_ns,
                                  .duration_ns = FAR_NS,
                                  .op_timeout_ns = UINT64_C(200000000)};
    ck_assert_int_eq(child_work(&job, &answer, death), CHILD_DONE);
    ck_assert_int_eq(death->kind, DEATH_NONE);
}

/* One call that waits now and then, and is looked at meanwhile: each byte wakes the parent. */
WORK(wait_now_and_then)
{
    progress_begin(PROGRESS_OP, OP_ALLOC, 0);
    for (int i = 0; i < 6; i++) {
        CHECK(file_write_all(file, "x", 1));
        (void)poll(NULL, 0, 5);
    }
    progress_end();
}

TEST(a_call_that_waits_less_than_it_may_is_no_hang)
{
    const struct child_job job = {
        .work = wait_now_and_then, .duration_ns = FAR_NS, .stuck_ns = FAR_NS};
    ck_assert_int_eq(child_work(&job, &answer, death), CHILD_DONE);
    ck_assert_str_eq(answer.bytes, "xxxxxx");
}

/* --- what is forked below it --- */

/* Two processes in sessions of their own, one below the other's end; this one crashes. */
WORK(leave_processes)
{
    volatile pid_t *left = context;
    for (int i = 0; i < 2; i++) {
        const pid_t middle = fork();
        if (middle == 0) {
            (void)setsid();
            const pid_t inner = fork();
            if (inner == 0) {
                (void)setsid();
                (void)pause();
            }
            left[i] = inner;
            _exit(0);
        }
        (void)waitpid(middle, NULL, 0);
    }
    (void)raise(SIGSEGV);
}

TEST(what_it_forked_ends_with_it_in_whatever_session)
{
    volatile pid_t *left = mmap(NULL, 2 * sizeof *left, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne((void *)left, MAP_FAILED);
    ck_assert_int_eq(run(leave_processes, (void *)left), CHILD_DIED);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_gt(left[i], 0);
        ck_assert_int_eq(kill(left[i], 0), -1);
        ck_assert_int_eq(errno, ESRCH);
    }
    check_no_child();
}

static pid_t own_process;

WORK(do_nothing)
{
}

TEST(children_that_were_there_before_stay)
{
    own_process = fork();
    if (own_process == 0) {
        (void)pause();
        _exit(0);
    }
    ck_assert_int_eq(run(do_nothing, NULL), CHILD_DONE);
    ck_assert_int_eq(waitpid(own_process, NULL, WNOHANG), 0);
    ck_assert_int_eq(kill(own_process, SIGKILL), 0);
    ck_assert_int_eq(waitpid(own_process, NULL, 0), own_process);
}

/* --- what it prints, and its answers --- */

WORK(print_and_answer)
{
    (void)printf("out\n");
    (void)fprintf(stderr, "error\n");
    (void)file_write_all(file, "answer", 6);
}

TEST(what_it_prints_goes_to_its_output)
{
    struct writing output;
    const struct child_job job = {
        .work = print_and_answer, .duration_ns = FAR_NS, .output = &output};
    writing_init(&output);
    ck_assert_int_eq(child_work(&job, &answer, death), CHILD_DONE);
    ck_assert_str_eq(writing_string(&answer), "answer");
    ck_assert_str_eq(writing_string(&output), "out\nerror\n");
    writing_deinit(&output);
}

/* As a target does that has found the file. */
WORK(add_to_the_answer)
{
    (void)!write(file, "x", 1);
    (void)file_write_all(file, "answer", 6);
}

WORK(close_and_stay)
{
    close(file);
    (void)pause();
}

TEST(an_answer_that_is_not_its_own_and_a_closed_one_are_its_death)
{
    void (*const works[])(void *, int) = {add_to_the_answer, close_and_stay};
    for (size_t i = 0; i < 2; i++) {
        const struct child_job job = {.work = works[i], .duration_ns = FAR_NS};
        ck_assert_int_eq(child_work(&job, &answer, death), CHILD_DIED);
        ck_assert_int_eq(death->kind, DEATH_CHANNEL);
        check_no_child();
    }
}

/* --- beside the run --- */

TEST(work_in_the_background_is_looked_for_until_it_ends)
{
    char letter = 'b';
    bool is_good = false;
    struct background background = {0};
    const int free_file = find_free_file();
    ck_assert(background_start(&background, answer_much, &letter));
    while (!background_is_done(&background, 100, &is_good)) {
    }
    ck_assert(is_good);
    ck_assert_uint_eq(background.answer.length, LARGE_BYTES);
    ck_assert_int_eq(background.child.process, 0);
    ck_assert(background_start(&background, exit_with_three, NULL));
    while (!background_is_done(&background, 100, &is_good)) {
    }
    ck_assert(!is_good);
    ck_assert_uint_eq(background.answer.length, 0); /* of the one before nothing is left */
    ck_assert(background_start(&background, wait_for_ever, NULL));
    ck_assert(!background_is_done(&background, 0, &is_good));
    background_stop(&background);
    ck_assert_int_eq(background.child.process, 0);
    background_stop(&background); /* there is none */
    ck_assert_int_eq(find_free_file(), free_file);
    check_no_child();
    writing_deinit(&background.answer);
}

/* --- words for a death --- */

TEST(each_kind_of_death_has_its_words)
{
    static const struct death deaths[] = {
        {.kind = DEATH_SIGNAL, .number = SIGSEGV},
        {.kind = DEATH_SIGNAL, .number = 63},
        {.kind = DEATH_SIGNAL, .number = SIGKILL},
        {.kind = DEATH_EXIT, .number = 4},
        {.kind = DEATH_SANITIZER, .text = "AddressSanitizer x"},
        {.kind = DEATH_CHANNEL},
        {.kind = DEATH_HANG},
        {.kind = DEATH_CHECK, .text = "x does not hold"},
    };
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        char name[SIGNATURE_BYTES], signature[SIGNATURE_BYTES], text[DEATH_WORDS_BYTES];
        const enum rule rule = death_rule(&deaths[i]);
        death_name(&deaths[i], name);
        death_signature(&deaths[i], signature);
        death_describe(&deaths[i], text);
        SHOW(name, signature, text, rule == RULE_NONE ? "none" : rule_info(rule)->name);
    }
}

/* Four functions deep, in frames of their own. */
static volatile int depth_seen;

static __attribute__((noinline)) void fall_first(void)
{
    (void)raise(SIGSEGV);
    depth_seen = 1;
}

static __attribute__((noinline)) void fall_second(void)
{
    fall_first();
    depth_seen = 2;
}

static __attribute__((noinline)) void fall_third(void)
{
    fall_second();
    depth_seen = 3;
}

WORK(fall_fourth)
{
    fall_third();
    depth_seen = 4;
}

TEST(three_functions_name_the_place)
{
    ck_assert_int_eq(run(fall_fourth, NULL), CHILD_DIED);
    ck_assert_str_eq(words, "SIGSEGV at fall_first < fall_second < fall_third");
}

TEST(the_end_of_a_process_is_taken_in_where_it_left_no_note)
{
    death_conclude(death, SIGTERM); /* as waitpid says it */
    ck_assert(death->kind == DEATH_SIGNAL && death->number == SIGTERM);
    death_conclude(death, 5 << 8); /* its own note counts */
    ck_assert_int_eq(death->kind, DEATH_SIGNAL);
    death_clear(death);
    death_conclude(death, 5 << 8);
    ck_assert(death->kind == DEATH_EXIT && death->number == 5);
}

TEST(an_address_has_the_name_of_its_function)
{
    struct symbol symbol;
    ck_assert(symbol_find((uintptr_t)&check_no_child + 1, &symbol));
    ck_assert_str_eq(symbol.name, "check_no_child");
    ck_assert(symbol.is_of_program);
    /* This file is compiled with -g, whatever the build. */
    ck_assert_str_eq(symbol.file, "test_child.c");
    ck_assert_uint_gt(symbol.line, 0);
    ck_assert_uint_lt(symbol.line, __LINE__);
    ck_assert(symbol_find((uintptr_t)&getpid, &symbol));
    ck_assert(!symbol.is_of_program || symbol.name[0] != '\0');
    ck_assert(!symbol_find(1, &symbol));
    symbols_close();
    ck_assert(symbol_find((uintptr_t)&check_no_child + 1, &symbol));
    ck_assert_str_eq(symbol.name, "check_no_child");
}

/* --- seen again --- */

static struct setup setup;
static struct op_list ops;

static struct repeat make_repeat(const struct lanes_search *search, const char *signature)
{
    const char *text = NULL;
    for (size_t i = 0; i < sizeof race_lists / sizeof *race_lists; i++) {
        text = strcmp(race_lists[i].target, "race_limit_checked") == 0 ? race_lists[i].ops : text;
    }
    read_list(text, &setup, &ops);
    return (struct repeat){.target = target_find("race_limit_checked"),
                           .setup = &setup,
                           .ops = &ops,
                           .signature = signature,
                           .searches = search,
                           .search_count = 1,
                           .duration_ns = FAR_NS};
}

static const struct lanes_search by_chance = {.strategy = &strategy_random,
                                              .seed = 1,
                                              .schedule_count_max = 200,
                                              .backend = SCHEDULER_FIBERS};

/* What the race shows under some schedule. */
static void find_signature(char signature[SIGNATURE_BYTES])
{
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES];
    const struct repeat repeat = make_repeat(&by_chance, "");
    ck_assert(lanes_search(repeat.target, &setup, &ops, &by_chance, NULL, &trial, &found, reason));
    ck_assert_uint_gt(trial.findings.count, 0);
    memcpy(signature, trial.findings.findings[0].signature, SIGNATURE_BYTES);
    trial_deinit(&trial);
    op_list_deinit(&ops);
}

TEST(a_verdict_is_seen_again_with_its_schedule)
{
    char signature[SIGNATURE_BYTES];
    struct op_list shown;
    find_signature(signature);
    op_list_init(&shown);
    struct lanes_search searches[2] = {by_chance, by_chance};
    searches[0].schedule_count_max = 1;
    searches[0].strategy = &strategy_round_robin;
    struct repeat repeat = make_repeat(searches, signature);
    repeat.search_count = 2; /* the second one shows it */
    ck_assert(repeat_shows(&repeat, &shown));
    ck_assert_uint_gt(shown.count, ops.count);
    ck_assert_int_eq(shown.ops[shown.count - 1].kind, OP_SWITCH);
    repeat.signature = "contents: never";
    searches[1].schedule_count_max = 3;
    ck_assert(!repeat_shows(&repeat, &shown));
    ck_assert_uint_eq(shown.count, 0);
    op_list_deinit(&ops);
    op_list_deinit(&shown);
}

ALLOC(die_in_alloc)
{
    (void)raise(SIGSEGV);
    return TARGET_OK;
}

/* What cannot be told counts as seen. */
TEST(a_death_and_an_interrupt_leave_it_open)
{
    struct op_list shown;
    struct target deadly = *target_find("race_limit_checked");
    deadly.alloc = die_in_alloc;
    op_list_init(&shown);
    struct repeat repeat = make_repeat(&by_chance, "overlap: never");
    repeat.target = &deadly;
    ck_assert(repeat_shows(&repeat, &shown));
    ck_assert_uint_eq(shown.count, 0);
    repeat.target = target_find("race_limit_checked");
    struct lanes_search long_search = by_chance;
    long_search.schedule_count_max = UINT64_MAX;
    repeat.searches = &long_search;
    repeat.duration_ns = 1000000;
    ck_assert(!repeat_shows(&repeat, &shown)); /* it did not show in that time */
    interrupt_install();
    ck_assert_int_eq(raise(SIGINT), 0);
    repeat.duration_ns = FAR_NS;
    ck_assert(repeat_shows(&repeat, &shown));
    ck_assert_uint_eq(shown.count, 0);
    op_list_deinit(&ops);
    op_list_deinit(&shown);
}
