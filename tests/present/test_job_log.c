/* The logs of a job's hosts: what they print of their ops, how they end, and in whose words. */
#include "harness/op/ops_file.h"
#include "present/job_log.h"
#include "targets/targets.h"
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

static const char *text_of(uint32_t number)
{
    return writing_string(&texts[number]);
}

static void check_has(uint32_t number, const char *words)
{
    ck_assert_msg(strstr(text_of(number), words) != NULL, "no '%s' in\n%s", words, text_of(number));
}

static void check_has_not(uint32_t number, const char *words)
{
    ck_assert_msg(strstr(text_of(number), words) == NULL, "'%s' in\n%s", words, text_of(number));
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
    run_job();
    for (uint32_t host = 0; host < 2; host++) {
        check_has(host, "JAX process");
        check_has(host, "Finished compilation of jit(train_step)");
        check_has(host, "completed step: 0, ");
        check_has(host, "completed step: 2, ");
        check_has_not(host, "completed step: 3, ");
        check_has(host, "Training finished\n");
        check_has_not(host, "DEADLINE_EXCEEDED");
    }
    ck_assert_int_eq(strncmp(text_of(1), "1: I0302 08:00:0", 16), 0);
    ck_assert_str_eq(text_of(JOB_LOG_LAUNCHER), "");
    forget_texts();
}

TEST(the_host_that_ran_out_raises_where_its_tag_is_requested_and_the_other_names_it)
{
    read_job(OUT_OF_MEMORY);
    run_job();
    check_has(1, "File \"/job/metric_logger.py\", line 203, in log_step\n");
    check_has(1, "1: jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: ");
    check_has_not(1, "Training finished");
    check_has(0, "DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: data 0. Timed out task names:\n"
                 "0: /job:jax_worker/replica:0/task:1\n");
    check_has_not(0, "task:0");
    check_has_not(0, "completed step: 1, ");
    forget_texts();
}

TEST(a_host_that_leaves_prints_nothing_more)
{
    read_job(LEFT);
    run_job();
    check_has(0, "task:1\n");
    check_has(1, "completed step: 0, ");
    check_has_not(1, "Traceback");
    check_has_not(1, "Training finished");
    ck_assert_str_eq(text_of(JOB_LOG_LAUNCHER), "");
    forget_texts();
}

TEST(who_waits_without_a_bound_prints_nothing_more)
{
    read_job(LEFT);
    setup.collective_bound_ns = DELAY_NEVER;
    run_job();
    check_has_not(0, "DEADLINE_EXCEEDED");
    forget_texts();
}

/* --- of one that was killed the launcher speaks --- */

TEST(slurm_and_srun_say_whose_machine_was_out_of_memory)
{
    read_job(LEFT);
    set_option("killed", "1");
    run_job();
    ck_assert_str_eq(text_of(JOB_LOG_LAUNCHER),
                     "slurmstepd: error: Detected 1 oom_kill event in StepId=48213.0. Some of the "
                     "step tasks have been OOM Killed.\n"
                     "srun: error: node-1: task 1: Out Of Memory\n"
                     "srun: error: node-0: task 0: Exited with exit code 1\n");
    check_has_not(1, "illed");
    forget_texts();
}

TEST(a_signal_is_told_in_the_words_of_each_launcher)
{
    read_job(LEFT);
    set_option("killed", "1");
    set_option("killed_by", "signal");
    run_job();
    ck_assert_str_eq(text_of(JOB_LOG_LAUNCHER),
                     "srun: error: node-1: task 1: Killed\n"
                     "srun: error: node-0: task 0: Exited with exit code 1\n");
    forget_texts();
    read_job(LEFT);
    set_option("killed", "1");
    set_option("launcher", "mpirun");
    run_job();
    ck_assert_str_eq(text_of(JOB_LOG_LAUNCHER),
                     "mpirun noticed that process rank 1 with PID 4028 on node node-1 exited on "
                     "signal 9 (Killed).\n");
    check_has(0, "[1,0]<stderr>:/job:jax_worker/replica:0/task:1\n");
    forget_texts();
}

TEST(who_ran_out_of_memory_before_was_not_killed)
{
    read_job(OUT_OF_MEMORY);
    set_option("killed", "1");
    run_job();
    ck_assert_str_eq(text_of(JOB_LOG_LAUNCHER), "");
    forget_texts();
}

/* --- PyTorch/XLA --- */

TEST(pytorch_says_the_same_in_its_own_words)
{
    read_job(OUT_OF_MEMORY);
    set_option("framework", "torch_xla");
    run_job();
    check_has(1, "1: 2026-03-02 08:00:01,000 - INFO - step 0/3 loss=");
    check_has(1, "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: ");
    check_has(1, "1: torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n");
    check_has(1, "1:   rank      : 1 (local_rank: 0)\n1:   exitcode  : 1 (pid: 4028)\n");
    check_has(0, "RuntimeError: Bad StatusOr access: DEADLINE_EXCEEDED: Barrier timed out.");
    check_has_not(0, "jax.errors");
    check_has_not(1, "JAX");
    forget_texts();
}

TEST(torchrun_says_which_signal_ended_its_child)
{
    read_job(LEFT);
    set_option("framework", "torch_xla");
    set_option("killed", "1");
    run_job();
    check_has(1, "1:   exitcode  : -9 (pid: 4028)\n");
    check_has(1, "Signal 9 (SIGKILL) received by PID 4028\n");
    forget_texts();
}

TEST(the_device_has_the_name_that_its_runtime_gives_it)
{
    static const char *const kinds[][2] = {
        {"v4", ": TPU v4\n"}, {"v5e", ": TPU v5 lite\n"}, {"v7x", ": TPU7x\n"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        read_job("");
        snprintf(setup.chip, sizeof setup.chip, "%s", kinds[i][0]);
        run_job();
        check_has(0, kinds[i][1]);
        forget_texts();
    }
    job_log_destroy(NULL);
}
