/* Logs of jobs of several hosts: who failed, who left without a word, who was killed, and who only
 * waited for them. */
#include "formats/log/log_story.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct log_story story;

/* --- logs of hosts, as files of a directory --- */

enum { HOST_COUNT_MAX = 6, LOG_BYTES = 4096 };
static char texts[HOST_COUNT_MAX][LOG_BYTES];
static char names[HOST_COUNT_MAX][16];
static uint32_t part_count;

static void start(void)
{
    part_count = 0;
    log_story_init(&story);
}

static void stop(void)
{
    log_story_deinit(&story);
}

static void add_file(const char *name, const char *text)
{
    snprintf(names[part_count], sizeof names[0], "%s", name);
    snprintf(texts[part_count++], LOG_BYTES, "%s", text);
}

/* The log of the next host: a step each second up to that one, and then the end. */
static void add_host(uint32_t last_step, const char *end)
{
    char text[LOG_BYTES];
    const uint32_t host = part_count;
    int used = 0;
    for (uint32_t step = 0; step <= last_step; step++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "%u: I0302 08:00:%02u.000000 4%u train.py:9] completed step: %u\n", host,
                         step, host, step);
    }
    snprintf(text + used, sizeof text - (size_t)used, "%s", end);
    snprintf(names[part_count], sizeof names[0], "host-%u.log", host);
    snprintf(texts[part_count++], LOG_BYTES, "%s", text);
}

static void read_files(void)
{
    struct log_part parts[HOST_COUNT_MAX];
    for (uint32_t i = 0; i < part_count; i++) {
        parts[i] = (struct log_part){texts[i], strlen(texts[i]), names[i], NULL, LOG_RANK_NONE};
    }
    log_story_read(parts, part_count, &story);
}

#define OOM(host) \
    host          \
        ": RESOURCE_EXHAUSTED: Attempting to allocate 8.00M. That was not possible. There are 1.00M free.\n"
#define TIMED_OUT(host, minute, missing)                                                     \
    host ": E0302 08:" minute ":00.000000 40 c.py:3] DEADLINE_EXCEEDED: Barrier timed out. " \
         "Barrier_id: x. Timed out task names:\n" missing
#define TASK(host, task) host ": /job:jax_worker/replica:0/task:" task "\n"

static const struct log_event *first(void)
{
    ck_assert_int_ge(story.first, 0);
    return &story.events[story.first];
}

static void check_first(enum log_verdict verdict, uint32_t rank)
{
    ck_assert_int_eq(story.verdict, verdict);
    ck_assert_uint_eq(story.sources[first()->source].rank, rank);
}

/* --- who is missing --- */

EVERY_TEST(.setup = start, .teardown = stop);

TEST(who_waited_in_another_collective_is_not_missing)
{
    add_host(5, TIMED_OUT("0", "11", TASK("0", "1")));
    add_host(5, TIMED_OUT("1", "10", TASK("1", "2")));
    add_host(5, OOM("2"));
    read_files();
    check_first(LOG_VERDICT_OOM, 2);
    ck_assert_uint_eq(story.missing_count, 1);
    ck_assert_uint_eq(story.missing[0], 2);
    ck_assert_uint_eq(story.silent_count, 0);
}

TEST(where_all_wait_for_each_other_all_are_missing)
{
    add_host(5, TIMED_OUT("0", "10", TASK("0", "1")));
    add_host(5, TIMED_OUT("1", "10", TASK("1", "0")));
    read_files();
    ck_assert_int_eq(story.verdict, LOG_VERDICT_WAITED);
    ck_assert_uint_eq(story.missing_count, 2);
}

/* --- who left without a word --- */

static void check_silence(uint32_t last_step, enum log_silence silence, bool has_gone_before)
{
    stop();
    start();
    add_host(20, TIMED_OUT("0", "10", TASK("0", "1") TASK("0", "2")));
    add_host(last_step, "");
    add_host(20, OOM("2"));
    read_files();
    check_first(LOG_VERDICT_OOM, 2);
    ck_assert_uint_eq(story.silent_count, 1);
    ck_assert_uint_eq(story.sources[story.silent[0]].rank, 1);
    ck_assert_int_eq(story.silence[0], silence);
    ck_assert(story.has_gone_before == has_gone_before);
    ck_assert_uint_eq(story.missing_count, 2);
}

TEST(a_silent_host_left_before_the_failure_in_its_step_or_after_it)
{
    check_silence(18, LOG_SILENCE_BEFORE, true);
    check_silence(19, LOG_SILENCE_SAME_STEP, false);
    check_silence(20, LOG_SILENCE_SAME_STEP, false);
    check_silence(22, LOG_SILENCE_AFTER, false);
}

TEST(who_prints_each_tenth_step_is_compared_with_its_stride)
{
    static const char seldom[] = "1: step 70\n1: step 80\n1: step 90\n1: step 100\n";
    static const struct {
        const char *text;
        enum log_silence silence;
    } cases[] = {{OOM("2"), LOG_SILENCE_SAME_STEP},
                 {"2: step 110\n" OOM("2"), LOG_SILENCE_SAME_STEP},
                 {"2: step 111\n" OOM("2"), LOG_SILENCE_BEFORE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[LOG_BYTES];
        stop();
        start();
        add_host(3, TIMED_OUT("0", "10", TASK("0", "1")));
        add_file("host-1.log", seldom);
        snprintf(text, sizeof text, "2: step 108\n2: step 109\n%s", cases[i].text);
        add_file("host-2.log", text);
        read_files();
        ck_assert_uint_eq(story.silent_count, 1);
        ck_assert_int_eq(story.silence[0], cases[i].silence);
    }
}

TEST(who_has_come_to_its_end_is_not_silent)
{
    add_host(5, TIMED_OUT("0", "10", TASK("0", "2")));
    add_host(9, "1: I0302 08:00:10.000000 41 train.py:9] Training finished\n");
    add_host(5, OOM("2"));
    read_files();
    ck_assert_uint_eq(story.silent_count, 0);
    add_host(5, "3: Retrying with batch size 4\n3: step 6\n"); /* it goes on, and then leaves */
    read_files();
    ck_assert_uint_eq(story.silent_count, 1);
    ck_assert_uint_eq(story.sources[story.silent[0]].rank, 3);
}

/* --- who was killed --- */

TEST(slurms_count_and_sruns_line_are_one_and_name_the_rank)
{
    add_host(5, TIMED_OUT("0", "10", TASK("0", "1")));
    add_host(5, "");
    add_file("launcher.log",
             "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks "
             "have been OOM Killed.\nsrun: error: n1: task 1: Out Of Memory\n"
             "srun: error: n0: task 0: Exited with exit code 1\n");
    read_files();
    ck_assert_int_eq(story.verdict, LOG_VERDICT_HOST);
    ck_assert(first()->has_victim);
    ck_assert_uint_eq(first()->victim_rank, 1);
    ck_assert_uint_eq(first()->count, 2);
    ck_assert_uint_eq(first()->step, 5);
    ck_assert_uint_eq(story.silent_count, 0);
}

TEST(what_a_launcher_says_of_a_signal_names_the_rank)
{
    static const struct {
        const char *line;
        enum log_event_kind kind;
    } lines[] = {
        {"srun: error: n1: task 1: Killed\n", LOG_EVENT_KILLED},
        {"srun: error: n1: tasks 1-3: Killed\n", LOG_EVENT_KILLED},
        {"mpirun noticed that process rank 1 with PID 81 on node n1 exited on signal 9 (Killed).\n",
         LOG_EVENT_KILLED},
        {"mpirun noticed that process rank 1 with PID 81 on node n1 exited on signal 15 "
         "(Terminated).\n",
         LOG_EVENT_KILLED},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        stop();
        start();
        add_host(5, TIMED_OUT("0", "10", TASK("0", "1")));
        add_host(5, "");
        add_file("launcher.log", lines[i].line);
        read_files();
        ck_assert_int_eq(first()->kind, lines[i].kind);
        ck_assert(first()->has_victim);
        ck_assert_uint_eq(first()->victim_rank, 1);
        ck_assert_uint_eq(story.silent_count, 0);
    }
    stop();
    start();
    add_file("launcher.log", "mpirun noticed that process rank 1 with PID 81 on node n1 exited on "
                             "signal 11 (Segmentation fault).\n");
    read_files();
    ck_assert_int_eq(first()->kind, LOG_EVENT_CRASH);
}

TEST(a_kill_of_another_host_does_not_hide_an_out_of_memory)
{
    static const uint32_t last_steps[] = {10, 20, 22};
    static const enum log_silence silences[] = {LOG_SILENCE_BEFORE, LOG_SILENCE_SAME_STEP,
                                                LOG_SILENCE_AFTER};
    for (size_t i = 0; i < 3; i++) {
        stop();
        start();
        add_host(20, TIMED_OUT("0", "10", TASK("0", "1") TASK("0", "2")));
        add_host(last_steps[i], "");
        add_host(20, OOM("2"));
        add_file("launcher.log", "srun: error: n1: task 1: Out Of Memory\n");
        read_files();
        check_first(LOG_VERDICT_OOM, 2);
        ck_assert_int_eq(story.events[story.event_count - 1].victim_silence, silences[i]);
        ck_assert(story.has_gone_before == (i == 0));
    }
}

/* --- a torchrun on each host --- */

#define REPORT(host, time, code)                                                                   \
    host ": torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" host            \
         ": ============\n" host ": train.py FAILED\n" host ": ------------\n" host                \
         ": Root Cause (first observed failure):\n" host ": [0]:\n" host                           \
         ":   time      : 2031-04-02_" time "\n" host ":   host      : n" host "\n" host           \
         ":   rank      : " host " (local_rank: 0)\n" host ":   exitcode  : " code " (pid: 8" host \
         ")\n" host ": ============\n"

TEST(of_several_reports_the_earliest_failure_counts)
{
    add_host(5, TIMED_OUT("0", "10", TASK("0", "1")) REPORT("0", "08:10:00", "1"));
    add_host(5, OOM("1") REPORT("1", "08:00:06", "1"));
    add_host(5, TIMED_OUT("2", "10", TASK("2", "1")) REPORT("2", "08:10:01", "1"));
    read_files();
    check_first(LOG_VERDICT_OOM, 1);
    ck_assert(story.blame.is_said);
    ck_assert_uint_eq(story.blame.rank, 1);
    ck_assert_str_eq(story.blame.host, "n1");
    ck_assert_uint_eq(story.blame.file, 1);
    ck_assert_uint_eq(story.missing_count, 1);
    for (size_t i = 0; i < story.event_count; i++) {
        ck_assert(story.events[i].kind != LOG_EVENT_PEER || story.events[i].is_blame);
    }
}

TEST(reports_of_those_who_waited_are_no_cause)
{
    add_host(5, TIMED_OUT("0", "10", TASK("0", "1")) REPORT("0", "08:10:00", "1"));
    add_host(5, "");
    read_files();
    check_first(LOG_VERDICT_WAITED, 0);
    ck_assert_int_eq(first()->kind, LOG_EVENT_TIMEOUT);
    ck_assert_uint_eq(story.silent_count, 1);
}

TEST(a_report_of_a_signal_is_the_kill_itself)
{
    add_host(5, TIMED_OUT("0", "10", TASK("0", "1")) REPORT("0", "08:10:00", "1"));
    add_host(5, REPORT("1", "08:00:06", "-9"));
    read_files();
    check_first(LOG_VERDICT_KILLED, 1);
    ck_assert_int_eq(story.blame.exit_code, -9);
}
