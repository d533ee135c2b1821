/* The logs of a job's hosts: what they print of their ops, how they end, and in whose words. */
#include "harness/op/ops_file.h"
#include "present/job_log.h"
#include "targets/targets.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* --- a list as text, run to its end with a log --- */

static struct setup setup;
static struct op_list list;
static struct writing texts[JOB_LOG_COUNT]; /* of the job that ran last */

static void set_option(const char *key, const char *value)
{
    struct setup_option *option = &setup.scenario_options[setup.scenario_option_count++];
    snprintf(option->key, sizeof option->key, "%s", key);
    snprintf(option->value, sizeof option->value, "%s", value);
}

/* Two hosts in one group, whose steps are executions of "train_step", of which three are wanted. */
static void read_job(const char *ops)
{
    struct ops_file_error error;
    char text[4096];
    const int length = snprintf(text, sizeof text,
                                "hbmstress-ops 1\ncapacity 1M\ngranule 1\nhosts 2\nclocks own\n"
                                "collective_bound 10m\ngroup 7 0-1 \"data 0\"\nuntil 3\n"
                                "tag 1 \"train_step\"\ntag 2 \"logged_metrics\"\n"
                                "tag 3 \"checkpoint\"\ntag 4 \"evaluate\"\n"
                                "0: load size=1K stack=1K tag=1\n"
                                "1: load size=1K stack=1K tag=1 host=1\n%s",
                                ops);
    op_list_init(&list);
    ck_assert_msg(ops_file_parse(text, (size_t)length, &setup, &list, &error) == OPS_FILE_OK, "%s",
                  error.reason);
}

static void run_job(void)
{
    char reason[RUN_REASON_BYTES] = "";
    struct run *run = run_create(target_find("hbm"), &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    struct job_log *log = job_log_create();
    for (size_t i = 0; i < list.count; i++) {
        run_step(run, &list.ops[i]);
        job_log_step(log, run);
    }
    run_finish(run);
    job_log_step(log, run);
    run_destroy(run);
    op_list_deinit(&list);
    for (uint32_t i = 0; i < JOB_LOG_COUNT; i++) {
        writing_init(&texts[i]);
        (void)job_log_take(log, i, &texts[i]);
    }
    job_log_destroy(log);
}

static void forget_texts(void)
{
    for (uint32_t i = 0; i < JOB_LOG_COUNT; i++) {
        writing_deinit(&texts[i]);
    }
}

/* Runs the job, and holds what both hosts and the launcher printed. */
static void snap_job(void)
{
    run_job();
    for (uint32_t i = 0; i < JOB_LOG_COUNT; i++) {
        if (i < 2 || i == JOB_LOG_LAUNCHER) {
            snap(writing_string(&texts[i]));
        }
    }
    forget_texts();
}

/* Step N of both hosts, and that they turn to the next one. */
#define BOTH(first, second)                                     \
    first ": execute program=0 delay=1us collective=7\n" second \
          ": execute program=1 delay=1us collective=7 host=1\n"
#define NEXT(first, second) first ": advance delay=1s\n" second ": advance delay=1s host=1\n"
#define OUT_OF_MEMORY \
    BOTH("2", "3")    \
    NEXT("4", "5") "6: alloc size=2M tag=2 host=1\n7: execute program=0 delay=1us collective=7\n"
#define LEFT BOTH("2", "3") NEXT("4", "5") "6: execute program=0 delay=1us collective=7\n"

/* --- what hosts print --- */

TEST(a_host_that_does_all_its_steps_says_so)
{
    read_job(BOTH("2", "3") NEXT("4", "5") BOTH("6", "7") NEXT("8", "9") BOTH("10", "11"));
    snap_job();
}

TEST(the_host_that_ran_out_raises_where_its_tag_is_requested_and_the_other_names_it)
{
    read_job(OUT_OF_MEMORY);
    snap_job();
}

TEST(a_host_that_leaves_prints_nothing_more)
{
    read_job(LEFT);
    snap_job();
}

TEST(who_waits_without_a_bound_prints_nothing_more)
{
    read_job(LEFT);
    setup.collective_bound_ns = DELAY_NEVER;
    snap_job();
}

/* --- of one that was killed the launcher speaks --- */

TEST(slurm_and_srun_say_whose_machine_was_out_of_memory)
{
    read_job(LEFT);
    set_option("killed", "1");
    snap_job();
}

TEST(a_signal_is_told_in_the_words_of_each_launcher)
{
    read_job(LEFT);
    set_option("killed", "1");
    set_option("killed_by", "signal");
    snap_job();
    read_job(LEFT);
    set_option("killed", "1");
    set_option("launcher", "mpirun");
    snap_job();
}

TEST(who_ran_out_of_memory_before_was_not_killed)
{
    read_job(OUT_OF_MEMORY);
    set_option("killed", "1");
    snap_job();
}

/* --- PyTorch/XLA --- */

TEST(pytorch_says_the_same_in_its_own_words)
{
    read_job(OUT_OF_MEMORY);
    set_option("framework", "torch_xla");
    snap_job();
}

TEST(torchrun_says_which_signal_ended_its_child)
{
    read_job(LEFT);
    set_option("framework", "torch_xla");
    set_option("killed", "1");
    snap_job();
}

TEST(the_device_has_the_name_that_its_runtime_gives_it)
{
    static const char *const names[] = {"v4", "v5e", "v7x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        read_job("");
        snprintf(setup.chip, sizeof setup.chip, "%s", names[i]);
        run_job();
        snap_lines(writing_string(&texts[0]), ": TPU");
        forget_texts();
    }
    job_log_destroy(NULL);
}
