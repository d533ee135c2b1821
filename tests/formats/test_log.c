/* A log's lines are taken apart, whatever stands in front of them; a whole log is told as a story,
 * and the importers get the lines of the source that failed first. */
#include "formats/formats.h"
#include "formats/log/log_story.h"
#include "formats/log/private/log_reading.h"
#include "harness/base/random.h"
#include "tests/formats/import_fixture.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/log/"

static struct log_story story;

static void setup_story(void)
{
    setup_import();
    log_story_init(&story);
}

static void teardown_story(void)
{
    log_story_deinit(&story);
    teardown_import();
}

static struct log_part part_of(const char *text, size_t length)
{
    return (struct log_part){text, length, NULL, NULL, LOG_RANK_NONE};
}

static void read_bytes(const char *text, size_t length)
{
    const struct log_part part = part_of(text, length);
    log_story_read(&part, 1, &story);
}

static void read_text(const char *text)
{
    read_bytes(text, strlen(text));
}

static enum import_result import_log_file(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, FIELD "%s", name);
    error = (struct import_error){0};
    return import_file_and_log(path, NULL, NULL, &import, &story, &error);
}

static const struct log_event *first(void)
{
    ck_assert_int_ge(story.first, 0);
    return &story.events[story.first];
}

static const char *first_source(void)
{
    return story.sources[first()->source].name;
}

static void check_line(const char *text, const char *source, const char *time, const char *words)
{
    struct log_line line;
    char printed[LOG_TIME_TEXT_BYTES];
    log_line_split(text, strlen(text), text[0] == '3', &line);
    ck_assert_str_eq(line.source, source);
    ck_assert_str_eq(log_time_print(&line.time, printed), time);
    ck_assert_msg(strncmp(line.at + line.prefix_bytes, words, strlen(words)) == 0, "%s: %s", text,
                  line.at + line.prefix_bytes);
    ck_assert_uint_eq(line.length - line.prefix_bytes, strlen(words));
}

EVERY_TEST(.setup = setup_story, .teardown = teardown_story);

TEST(each_prefix_is_taken_off_and_says_who_and_when)
{
    check_line("(EngineCore pid=7) ERROR 04-30 22:40:27 [core.py:1136]   indented",
               "EngineCore pid=7", "04-30 22:40:27", "  indented");
    check_line("(VllmWorkerProcess pid=7) ERROR 04-30 22:40:27 worker.py:11] x",
               "VllmWorkerProcess pid=7", "04-30 22:40:27", "x");
    check_line("3: (EngineCore_0 pid=7) (RayWorkerWrapper pid=9) x",
               "task 3, EngineCore_0 pid=7, RayWorkerWrapper pid=9", "", "x");
    check_line("[2031-01-12 10:57:43 DP1 TP3] x", "DP1 TP3", "01-12 10:57:43", "x");
    check_line("[rank5]:[E1206 18:44:12.715298746 File.cpp:607] [Rank 5] x", "rank 5",
               "12-06 18:44:12", "[Rank 5] x");
    check_line("[rank5]:[W812 16:00:28.643448608 File.cpp:3933] x", "rank 5", "08-12 16:00:28",
               "x");
    check_line("[rank5]:   File", "rank 5", "", "  File");
    check_line("I0317 10:00:13.658792 125344476638336 metric_logger.py:181] x", "",
               "03-17 10:00:13", "x");
    check_line("2031-10-09 15:47:38.568412: E external/xla/a.cc:1170] x", "", "10-09 15:47:38",
               "x");
    check_line("[2031-10-09 15:47:38,568] [INFO] [utils.py:781:see_memory_usage] x", "",
               "10-09 15:47:38", "x");
    check_line("2031-10-09 15:47:38,568 - train - INFO - x", "", "10-09 15:47:38", "x");
    check_line("[1,2]<stderr>:x", "rank 2", "", "x");
    check_line("[ 7063.247407] x", "", "", "x");
    check_line("(see page 7) x", "", "", "(see page 7) x");
    check_line("[rank]: x", "", "", "[rank]: x");
    check_line("", "", "", "");
}

/* The collector's stamp is 12 minutes late: the program's own time counts. */
TEST(the_programs_time_wins_over_the_collectors)
{
    struct log_line line;
    static const char text[] =
        "2031-09-02T20:18:43.9575040Z (EngineCore pid=418) DEBUG 09-02 20:06:36 [w.py:548] x";
    char printed[LOG_TIME_TEXT_BYTES];
    log_line_split(text, sizeof text - 1, false, &line);
    ck_assert_str_eq(log_time_print(&line.time, printed), "09-02 20:06:36");
    ck_assert_int_eq(line.time.clock, LOG_CLOCK_PROGRAM);
    ck_assert_uint_eq(line.pid, 418);
}

TEST(folded_lines_count)
{
    struct log_line line;
    static const char text[] = "(W pid=1, ip=10.0.0.1) out [repeated 3x across cluster]";
    log_line_split(text, sizeof text - 1, false, &line);
    ck_assert_uint_eq(line.repeated_count, 3);
    ck_assert_str_eq(line.source, "W pid=1, ip=10.0.0.1");
}

TEST(steps_are_read_in_each_form)
{
    static const struct {
        const char *text;
        uint64_t step;
    } steps[] = {{"completed step: 24031, seconds: 0.5", 24031},
                 {"step 24031 loss 2", 24031},
                 {"global_step=7, lr=1", 7},
                 {"iteration       10/     100 |", 10},
                 {" 12%|###  | 7/100 [00:12<02:40,  1.7s/it]", 7},
                 {"Epoch 3:  12%|###  | 7/100 [00:12<02:40,  1.7it/s]", 7}};
    uint64_t step = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        ck_assert_msg(log_step_read(steps[i].text, strlen(steps[i].text), &step), "%s",
                      steps[i].text);
        ck_assert_uint_eq(step, steps[i].step);
    }
    static const char *const others[] = {"Loading shards: 100%|##| 4/4 [00:12<00:00, 3.0s/it]",
                                         "global_step=3.2e+4", "timestep 7", "steps: 7",
                                         "footstep"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(!log_step_read(others[i], strlen(others[i]), &step), "%s", others[i]);
    }
}

TEST(how_many_steps_there_were_to_be_is_read_in_each_form)
{
    static const struct {
        const char *text;
        uint64_t total;
    } totals[] = {{"Step 24031/80000, loss 2.1", 80000},
                  {"step 7 of 100", 100},
                  {"iteration       10/     100 | lm loss", 100},
                  {" 12%|###  | 7/100 [00:12<02:40,  1.7s/it]", 100},
                  {"  Total optimization steps = 80,000", 80000},
                  {"Config param steps: 500", 0},
                  {"steps=80000", 80000},
                  {"max_steps: 300", 300},
                  {"num_train_steps=1000, lr=1", 1000},
                  {"warmup_steps=100", 0},
                  {"  Gradient Accumulation steps = 8", 0},
                  {"max_steps: -1", 0},
                  {"step 7 loss 1/2", 0},
                  {"completed step: 24031, seconds: 0.5", 0}};
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        uint64_t total = 0;
        const bool is_read = log_step_total_read(totals[i].text, strlen(totals[i].text), &total);
        ck_assert_msg(is_read == (totals[i].total > 0), "%s", totals[i].text);
        ck_assert_msg(!is_read || total == totals[i].total, "%s: %lu", totals[i].text,
                      (unsigned long)total);
    }
}

/* One sentence of each row of the tables: what looks for signs first must not pass over it. */
TEST(each_sentence_is_recognised)
{
    static const struct {
        enum log_event_kind kind;
        const char *text;
    } lines[] = {
        {LOG_EVENT_RETRY,
         "memory allocation failed with OOM on device 0 while trying to allocate 5"},
        {LOG_EVENT_RETRY, "RESOURCE_EXHAUSTED; attempting to defragment and retry"},
        {LOG_EVENT_RETRY, "The caller indicates that this is not a failure, but"},
        {LOG_EVENT_RETRY, "failed to allocate 2G from device: CUDA_ERROR_OUT_OF_MEMORY: out"},
        {LOG_EVENT_RETRY, "Decode out of memory happened. #retracted_reqs: 1"},
        {LOG_EVENT_RETRY, "ran out of memory, retrying batch"},
        {LOG_EVENT_OOM, "Attempting to allocate 8.00M. That was"},
        {LOG_EVENT_OOM, "Attempting to reserve 8.00M at the bottom"},
        {LOG_EVENT_OOM, "Could not allocate 5 bytes in memory 0x0x0_HBM0"},
        {LOG_EVENT_OOM, "Ran out of memory in memory space hbm. Used 1.00G of"},
        {LOG_EVENT_OOM, "HLO temporaries (1.00G) exceeds available HBM (0.50G)"},
        {LOG_EVENT_OOM, "Allocation (size=5) would exceed memory (size=4)"},
        {LOG_EVENT_OOM, "unlikely to have enough memory. Requires 3.84T"},
        {LOG_EVENT_OOM, "HIP out of memory. Tried to allocate 2.00 MiB"},
        {LOG_EVENT_OOM, "MPS backend out of memory (MPS allocated: 1 GB)"},
        {LOG_EVENT_OOM, "Allocation on device 0 would exceed allowed memory. (out of memory)"},
        {LOG_EVENT_OOM, "ran out of memory trying to allocate 2.00GiB"},
        {LOG_EVENT_OOM, "OOM when allocating tensor with shape[8]"},
        {LOG_EVENT_OOM, "Out of memory while trying to allocate 5 bytes"},
        {LOG_EVENT_OOM, "Failed to allocate request for 1.00GiB (5B) on device ordinal 0"},
        {LOG_EVENT_OOM, "RMM failure at:p.hpp:1: Maximum pool size exceeded"},
        {LOG_EVENT_OOM, "std::bad_alloc: out_of_memory: RMM failure"},
        {LOG_EVENT_OOM, "CUDA error at: x.hpp:1: cudaErrorMemoryAllocation out of memory"},
        {LOG_EVENT_OOM, "Failed to allocate memory for requested buffer of size 5"},
        {LOG_EVENT_OOM, "Available memory of 0 is smaller than requested bytes of 2048"},
        {LOG_EVENT_OOM, "Decode out of memory. Try to lower your batch size."},
        {LOG_EVENT_OOM, "CUDA error: out of memory"},
        {LOG_EVENT_OOM, "CUDA driver error: out of memory"},
        {LOG_EVENT_OOM, "HIP error: out of memory"},
        {LOG_EVENT_OOM, "CUDA_ERROR_OUT_OF_MEMORY"},
        {LOG_EVENT_SCRATCHPAD, "Ran out of memory in memory space vmem. Used 1.00M"},
        {LOG_EVENT_SCRATCHPAD, "Allocation (size=5) would exceed memory (size=4) :: [space=vmem]"},
        {LOG_EVENT_PLAN, "needed, which is larger than the available KV cache memory (8 GiB)"},
        {LOG_EVENT_PLAN, "No available memory for the cache blocks"},
        {LOG_EVENT_HOST_OOM, "killed due to the node running low on memory"},
        {LOG_EVENT_HOST_OOM, "Killed process 5 (python) total-vm:5kB"},
        {LOG_EVENT_HOST_OOM, "oom-kill:constraint=CONSTRAINT_NONE,pid=5"},
        {LOG_EVENT_HOST_OOM, "Detected 1 oom_kill event in StepId=1.0"},
        {LOG_EVENT_HOST_OOM, "Detected 1 oom-kill event(s) in step 1.0 cgroup"},
        {LOG_EVENT_HOST_OOM, "srun: error: n1: tasks 1-3: Out Of Memory"},
        {LOG_EVENT_HOST_OOM, "Reason: OOMKilled"},
        {LOG_EVENT_HOST_OOM, "DataLoader worker (pid 5) is killed by signal: Killed."},
        {LOG_EVENT_PEER, "Sending process 5 closing signal SIGTERM"},
        {LOG_EVENT_PEER, "Worker exit type: SYSTEM_ERROR Worker exit detail"},
        {LOG_EVENT_KILLED, "srun: error: n1: task 2: Killed"},
        {LOG_EVENT_KILLED, "srun: error: n1: task 2: Terminated"},
        {LOG_EVENT_KILLED, "CANCELLED AT x DUE TO TIME LIMIT"},
        {LOG_EVENT_KILLED, "CANCELLED AT x DUE TO PREEMPTION"},
        {LOG_EVENT_KILLED, "received SIGKILL"},
        {LOG_EVENT_KILLED, "Killed"},
        {LOG_EVENT_KILLED, "run.sh: line 22: 103525 Killed   python train.py"},
        {LOG_EVENT_KILLED, "EXIT_CODE=137"},
        {LOG_EVENT_KILLED, "Exit Code:    143"},
        {LOG_EVENT_KILLED, "failed (exitcode: -9) local_rank: 1"},
        {LOG_EVENT_CRASH, "exited with exit code 139"},
        {LOG_EVENT_CRASH, "Segmentation fault"},
        {LOG_EVENT_CRASH, "*** SIGSEGV received"},
        {LOG_EVENT_CRASH, "Aborted (core dumped)"},
        {LOG_EVENT_TIMEOUT,
         "Watchdog caught collective operation timeout: W ran for 5 milliseconds"},
        {LOG_EVENT_TIMEOUT, "timeout) detected by watchdog at work: 5"},
        {LOG_EVENT_TIMEOUT, "ProcessGroupNCCL's watchdog got stuck for 480 seconds"},
        {LOG_EVENT_TIMEOUT, "Heartbeat monitor timed out!"},
        {LOG_EVENT_TIMEOUT, "Task /job:w/replica:0/task:0 heartbeat timeout."},
        {LOG_EVENT_TIMEOUT, "Barrier timed out. Id: x::0."},
        {LOG_EVENT_TIMEOUT, "DEADLINE_EXCEEDED: x"},
        {LOG_EVENT_TIMEOUT, "Timed out waiting 1800000ms for recv"},
        {LOG_EVENT_TIMEOUT, "Socket Timeout"},
        {LOG_EVENT_PEER, "because the JAX distributed service detected fatal errors."},
        {LOG_EVENT_PEER, "Some NCCL operations have failed or timed out."},
        {LOG_EVENT_PEER, "NCCL communicator was aborted on rank 0."},
        {LOG_EVENT_PEER, "remote process exited or there was a network error"},
        {LOG_EVENT_PEER, "Connection closed by peer"},
        {LOG_EVENT_PEER, "Connection reset by peer"},
        {LOG_EVENT_PEER, "BrokenPipeError: x"},
        {LOG_EVENT_PEER, "EngineDeadError: x"},
        {LOG_EVENT_PEER, "EngineCore encountered an issue."},
        {LOG_EVENT_PEER, "Engine core initialization failed."},
        {LOG_EVENT_PEER, "Engine core proc died unexpectedly"},
        {LOG_EVENT_PEER, "ray.exceptions.ActorDiedError: x"},
        {LOG_EVENT_PEER, "ray.exceptions.RayActorError: x"},
        {LOG_EVENT_PEER, "WorkerCrashedError: x"},
        {LOG_EVENT_PEER, "torch.distributed.elastic.ChildFailedError:"},
        {LOG_EVENT_PEER, "EOFError"},
        {LOG_EVENT_NONE, "step 5 loss 2, memory allocated 3 GiB"},
        {LOG_EVENT_NONE, "Killed the old job, starting anew"},
        {LOG_EVENT_NONE, "exit code 0"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct log_words words;
        log_words_read(lines[i].text, strlen(lines[i].text), &words);
        ck_assert_msg(words.kind == lines[i].kind, "%s: %d", lines[i].text, (int)words.kind);
    }
}

/* --- stories --- */

TEST(of_interleaved_ranks_the_one_that_failed_is_imported_and_explained)
{
    ck_assert_int_eq(import_log_file("ranks_oom.log"), IMPORT_OK);
    ck_assert_int_eq(story.verdict, LOG_VERDICT_OOM);
    ck_assert_str_eq(first_source(), "task 1");
    ck_assert_uint_eq(first()->line, 15);
    ck_assert_uint_eq(first()->step, 41);
    ck_assert_str_eq(first()->where, "/job/train.py:88 in train_step");
    ck_assert_uint_eq(story.missing_count, 1);
    ck_assert_uint_eq(story.missing[0], 1);
    ck_assert_str_eq(import.format->name, "tpu_message");
    ck_assert_ptr_nonnull(strstr(import.notes, "line 15: "));
    const struct said *said = &import.said[import.said_count - 1];
    ck_assert_int_eq(said->kind, SAID_STEP);
    ck_assert_uint_eq(said->value, 42);
    ck_assert_uint_eq(said->op, import.ops.count - 1);
}

/* A listing that two ranks print at once is whole again: the same ops as of one rank's alone. */
TEST(a_listing_among_other_ranks_lines_is_whole)
{
    char line[1024];
    struct writing mixed;
    struct import alone;
    FILE *file = fopen(HBMSTRESS_SOURCE_DIR "/corpus/field/hbm_report/sections.log", "r");
    ck_assert_ptr_nonnull(file);
    writing_init(&mixed);
    for (unsigned i = 0; fgets(line, sizeof line, file) != NULL; i++) {
        writing_append_format(&mixed, "(Worker_TP0 pid=8) INFO 04-30 22:40:27 [a.py:%u] step %u\n",
                              i, i / 4);
        writing_append_format(&mixed, "(Worker_TP1 pid=9) ERROR 04-30 22:40:27 [a.py:7] %s", line);
    }
    (void)fclose(file);
    import_init(&alone);
    ck_assert_int_eq(import_file(HBMSTRESS_SOURCE_DIR "/corpus/field/hbm_report/sections.log", NULL,
                                 NULL, &alone, &error),
                     IMPORT_OK);
    ck_assert_int_eq(
        import_text_and_log(mixed.bytes, mixed.length, NULL, NULL, &import, &story, &error),
        IMPORT_OK);
    ck_assert_str_eq(first_source(), "Worker_TP1 pid=9");
    ck_assert_uint_eq(import.ops.count, alone.ops.count);
    ck_assert_mem_eq(import.ops.ops, alone.ops.ops, alone.ops.count * sizeof *alone.ops.ops);
    import_deinit(&alone);
    writing_deinit(&mixed);
}

TEST(errors_name_the_line_of_the_file)
{
    static const char text[] = "[rank0]: step 1\n[rank1]: step 1\n"
                               "[rank1]: Attempting to allocate 8.00M. That was not possible.\n"
                               "[rank0]: step 2\n";
    ck_assert_int_eq(
        import_text_and_log(text, sizeof text - 1, NULL, NULL, &import, &story, &error),
        IMPORT_INCOMPLETE);
    ck_assert_uint_eq(error.line, 3);
}

TEST(entries_of_a_structured_log_are_put_in_the_order_of_time)
{
    ck_assert_int_eq(import_log_file("cloud_logging.json"), IMPORT_OK);
    ck_assert_str_eq(first_source(), "pod train-1");
    ck_assert_uint_eq(first()->line, 1);
    ck_assert_uint_eq(first()->step, 9);
    ck_assert_uint_eq(story.left_out_count, 1);
    ck_assert_uint_eq(story.missing[0], 1);
}

TEST(warnings_that_were_served_are_no_failure)
{
    static const struct {
        const char *name;
        uint64_t count;
    } files[] = {{"retries_served.log", 2}, {"bfc_warning.log", 2}, {"tpu_retry_served.log", 1}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        ck_assert_int_ne(import_log_file(files[i].name), IMPORT_OK);
        ck_assert_msg(story.verdict == LOG_VERDICT_RECOVERED, "%s", files[i].name);
        ck_assert_uint_eq(first()->count, files[i].count);
    }
}

/* Two of the three warnings are of the request that failed then. */
TEST(warnings_of_the_request_that_failed_are_its_own)
{
    (void)import_log_file("retry_then_failure.log");
    ck_assert_int_eq(story.verdict, LOG_VERDICT_OOM);
    ck_assert_uint_eq(first()->line, 11);
    ck_assert_str_eq(first()->where, "/home/u/fit.py:12 in <module>");
    ck_assert_uint_eq(story.event_count, 2);
    ck_assert_int_eq(story.events[0].kind, LOG_EVENT_RETRY);
    ck_assert_uint_eq(story.events[0].count, 1);
}

TEST(what_is_printed_three_times_counts_once)
{
    (void)import_log_file("vllm_thrice.log");
    ck_assert_str_eq(first_source(), "Worker_TP1 pid=61");
    ck_assert_uint_eq(first()->count, 2);
    ck_assert_uint_eq(first()->printer_count, 2);
    ck_assert_uint_eq(story.event_count, 2);
    ck_assert_int_eq(story.events[1].kind, LOG_EVENT_PEER);
    (void)import_log_file("ray_folded.log");
    ck_assert_uint_eq(first()->count, 5);
}

TEST(each_other_end_has_its_verdict)
{
    static const struct {
        const char *name;
        enum log_verdict verdict;
        size_t line;
    } files[] = {
        {"kernel_kill.log", LOG_VERDICT_HOST, 4},     {"slurm_kill.log", LOG_VERDICT_HOST, 2},
        {"kubernetes_kill.log", LOG_VERDICT_HOST, 3}, {"killed.log", LOG_VERDICT_KILLED, 3},
        {"waited_only.log", LOG_VERDICT_WAITED, 2},   {"heartbeat.log", LOG_VERDICT_WAITED, 1},
        {"ranks_hang.log", LOG_VERDICT_WAITED, 10},   {"budget.log", LOG_VERDICT_PLAN, 3},
        {"exception.log", LOG_VERDICT_FAILED, 5}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        ck_assert_int_ne(import_log_file(files[i].name), IMPORT_OK);
        ck_assert_msg(story.verdict == files[i].verdict, "%s: %d", files[i].name,
                      (int)story.verdict);
        ck_assert_uint_eq(first()->line, files[i].line);
    }
}

TEST(the_rank_that_others_waited_for_is_named)
{
    (void)import_log_file("waited_only.log");
    ck_assert_uint_eq(story.missing_count, 1);
    ck_assert_uint_eq(story.missing[0], 1);
    ck_assert_uint_eq(first()->waited_ms, 600012);
    (void)import_log_file("heartbeat.log");
    ck_assert_uint_eq(story.missing[0], 5);
    (void)import_log_file("ranks_hang.log");
    ck_assert_uint_eq(story.missing[0], 2);
    ck_assert_uint_eq(story.silent_count, 1);
    ck_assert_str_eq(story.sources[story.silent[0]].name, "rank 2");
    ck_assert_uint_eq(story.sources[story.silent[0]].last_step, 12);
}

/* Rank 1's lines come later in the file, and are earlier in time. */
TEST(times_decide_between_two_sources)
{
    read_text("[rank0]:[E402 10:00:09.0 a.cpp:1] CUDA error: out of memory A\n"
              "[rank1]:[E402 10:00:03.0 a.cpp:1] CUDA error: out of memory B\n");
    ck_assert_str_eq(first_source(), "rank 1");
    read_text("[rank0]: CUDA error: out of memory A\n[rank1]: CUDA error: out of memory B\n");
    ck_assert_str_eq(first_source(), "rank 0");
    /* A collector's stamp is no evidence against a program's. */
    read_text("[rank0]:[E402 10:00:09.0 a.cpp:1] CUDA error: out of memory A\n"
              "2031-04-02T09:00:00Z [rank1]: CUDA error: out of memory B\n");
    ck_assert_str_eq(first_source(), "rank 0");
}

/* A job of many ranks: those who wait do not crowd out the one that failed. */
TEST(many_who_wait_leave_room_for_the_failure)
{
    struct writing text;
    writing_init(&text);
    for (int i = 0; i < LOG_SOURCE_COUNT_MAX - 2; i++) {
        writing_append_format(&text, "[rank%d]: Connection closed by peer\n", i);
    }
    writing_append(&text, "[rank2000]: CUDA error: out of memory\n");
    read_bytes(text.bytes, text.length);
    ck_assert_str_eq(first_source(), "rank 2000");
    ck_assert_uint_gt(story.event_omitted, 0);
    writing_deinit(&text);
}

TEST(a_failure_after_which_the_job_went_on_is_survived)
{
    read_text("step 1\nCUDA error: out of memory\nstep 2\nstep 3\nstep 4\n"
              "CUDA error: out of memory\n");
    ck_assert_uint_eq(story.event_count, 2);
    ck_assert_uint_eq(first()->line, 6);
    ck_assert(story.events[0].has_survived);
}

TEST(a_size_with_its_bytes_behind_it_is_exact)
{
    read_text(
        "RESOURCE_EXHAUSTED: Failed to allocate request for 1.00GiB (1073741825B) on device\n");
    ck_assert_uint_eq(first()->low_bytes, 1073741825);
    ck_assert_uint_eq(first()->high_bytes, 1073741825);
    read_text("Failed to allocate memory for requested buffer of size 4585490524328388608\n");
    ck_assert_uint_eq(first()->low_bytes, UINT64_C(4585490524328388608));
}

/* What the job prints that goes on: fewer than three steps follow, or none. */
TEST(a_job_that_tries_again_with_less_has_survived)
{
    static const char oom[] =
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        "GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free.\n";
    static const struct {
        const char *between;
        bool has_survived;
    } jobs[] = {{"Decreasing batch size to: 8.\n", true},
                {"Retrying with batch size 8\n", true},
                {"WARNING: skipping batch 7\n", true},
                {"step 3\nTraining finished\n", true},
                {"Try reducing batch size to 8\n", false},
                {"step 3\nTraining failed\n", false},
                {"step 3\nTraining finished with an error\n", false}};
    struct writing text;
    writing_init(&text);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        writing_clear(&text);
        writing_append_format(&text, "step 1\n%s%sCUDA error: out of memory\n", oom,
                              jobs[i].between);
        read_text(text.bytes);
        ck_assert_msg(story.events[0].has_survived == jobs[i].has_survived, "%s", jobs[i].between);
        ck_assert_uint_eq(first()->line > 2, jobs[i].has_survived);
    }
    writing_clear(&text); /* the same words again and again: the last one is fatal */
    writing_append_format(
        &text, "%sbatch size 16 failed, trying batch size 8\n%sReducing batch size to 4\n%s", oom,
        oom, oom);
    read_text(text.bytes);
    ck_assert_uint_eq(first()->line, 5);
    writing_deinit(&text);
}

TEST(progress_bars_and_colours_are_parted_from_other_lines)
{
    read_text(" 10%|#  | 1/10 [00:01<00:09,  1.0s/it]\r 20%|## | 2/10 [00:02<00:08,  "
              "1.0s/it][rank5]:[E602 11:17:52.185053341 P.cpp:607] CUDA error: out of memory\n"
              "\033[36m(W pid=5)\033[0m CUDA error: out of memory\n");
    ck_assert_str_eq(first_source(), "rank 5");
    ck_assert_uint_eq(first()->line, 1);
    ck_assert_uint_eq(first()->step, 2);
    ck_assert_uint_eq(first()->count, 2);
}

TEST(a_numbered_list_has_no_labels_of_tasks)
{
    read_text("1: first\n2: second\n3: third\n4: Killed\n");
    ck_assert(!story.has_task_labels);
    read_text("0: a\n1: a\n0: b\n1: b\n0: c\n1: CUDA error: out of memory\n");
    ck_assert(story.has_task_labels);
    ck_assert_str_eq(first_source(), "task 1");
}

/* Any bytes: no more sources and events than there is room for. */
TEST(any_text_is_read)
{
    static const char *const pieces[] = {"[rank",
                                         "7]:",
                                         "(A pid=",
                                         "3) ",
                                         "\n",
                                         "\r",
                                         "{\"log\":\"",
                                         "\"}",
                                         "\033[3",
                                         "0m",
                                         "CUDA error: out of memory",
                                         "Traceback (most recent call last):\n",
                                         "  File \"a\", line 3",
                                         "Barrier timed out",
                                         "/job:w/task:",
                                         "99999999999999999999",
                                         "step ",
                                         "[repeated ",
                                         "\0"};
    struct random random;
    struct writing text;
    writing_init(&text);
    random_init(&random, 5);
    for (int i = 0; i < 300; i++) {
        struct log_excerpt excerpt;
        writing_clear(&text);
        for (int j = 0; j < 40; j++) {
            const char *piece = pieces[random_below(&random, sizeof pieces / sizeof pieces[0])];
            writing_append_bytes(&text, piece, piece[0] == '\0' ? 1 : strlen(piece));
        }
        read_bytes(text.bytes, text.length);
        ck_assert_uint_le(story.event_count, LOG_EVENT_COUNT_MAX);
        const struct log_part part = part_of(text.bytes, text.length);
        if (log_excerpt_take(&story, &part, 1, &excerpt)) {
            ck_assert_uint_le(excerpt.text.length, 2 * text.length + 2);
            log_excerpt_deinit(&excerpt);
        }
    }
    writing_clear(&text);
    for (int i = 0; i < 3 * LOG_SOURCE_COUNT_MAX; i++) {
        writing_append_format(&text, "(A pid=%d) CUDA error: out of memory %d\n", i, i);
    }
    read_bytes(text.bytes, text.length);
    ck_assert_uint_eq(story.source_count, LOG_SOURCE_COUNT_MAX);
    ck_assert_uint_eq(story.event_count, LOG_EVENT_COUNT_MAX);
    writing_deinit(&text);
}
