#include "present/job_words.h"

#include "harness/base/check.h"
#include "harness/op/op.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Where a job begins to count its time: 2 March 2026, 08:00 UTC. */
#define JOB_BEGINS_S INT64_C(1772438400)
/* Processes of one program, started one after the other; the number of the job. */
enum { PROCESS_FIRST = 4021, PROCESS_STRIDE = 7, JOB_NUMBER = 48213 };

static uint32_t process_of(uint32_t host)
{
    return PROCESS_FIRST + host * PROCESS_STRIDE;
}

static struct tm read_clock(const struct job_writer *writer)
{
    const time_t seconds = (time_t)(JOB_BEGINS_S + (int64_t)(writer->clock_ns / 1000000000));
    struct tm parts;
    CHECK(gmtime_r(&seconds, &parts) != NULL);
    return parts;
}

/* --- beginnings of lines --- */

/* So that the logs of all hosts can be read as one: srun --label, mpirun --tag-output. */
static void append_label(const struct job_writer *writer)
{
    if (writer->launcher == JOB_MPIRUN) {
        writing_append_format(writer->text, "[1,%" PRIu32 "]<stderr>:", writer->host);
    } else {
        writing_append_format(writer->text, "%" PRIu32 ": ", writer->host);
    }
}

static void append_line(const struct job_writer *writer, const char *words)
{
    append_label(writer);
    writing_append_format(writer->text, "%s\n", words);
}

/* "E0302 08:01:00.964123 4021 train.py:88] ", of absl and glog. */
static void append_glog(const struct job_writer *writer, char severity, const char *where)
{
    const struct tm time = read_clock(writer);
    append_label(writer);
    writing_append_format(writer->text, "%c%02d%02d %02d:%02d:%02d.%06" PRIu64 " %" PRIu32 " %s] ",
                          severity, time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min,
                          time.tm_sec, writer->clock_ns % 1000000000 / 1000,
                          process_of(writer->host), where);
}

/* "2026-03-02 08:01:00,964 - INFO - ", of Python's logging. */
static void append_logging(const struct job_writer *writer)
{
    const struct tm time = read_clock(writer);
    append_label(writer);
    writing_append_format(writer->text, "%04d-%02d-%02d %02d:%02d:%02d,%03" PRIu64 " - INFO - ",
                          time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour,
                          time.tm_min, time.tm_sec, writer->clock_ns % 1000000000 / 1000000);
}

/* What the framework's logger puts in front; where: file and line, which absl alone prints. */
static void append_prefix(const struct job_writer *writer, const char *where)
{
    if (writer->framework == JOB_JAX) {
        append_glog(writer, 'I', where);
    } else {
        append_logging(writer);
    }
}

/* --- the course of a job --- */

/* What runtimes call the device of a chip; others are printed as they are. */
static void append_device_kind(struct writing *text, const char *chip)
{
    static const struct {
        const char *chip, *kind;
    } kinds[] = {{"v5e", "TPU v5 lite"}, {"v6e", "TPU v6 lite"}, {"v7x", "TPU7x"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].chip, chip) == 0) {
            writing_append(text, kinds[i].kind);
            return;
        }
    }
    writing_append_format(text, "%s%s", chip[0] == 'v' ? "TPU " : "", chip);
}

void job_words_begin(const struct job_writer *writer, uint32_t host_count, const char *chip)
{
    append_prefix(writer, "distributed.py:151");
    writing_append_format(writer->text,
                          writer->framework == JOB_JAX
                              ? "JAX process %" PRIu32 " of %" PRIu32 ", 1 local device"
                              : "torch_xla ordinal %" PRIu32 " of %" PRIu32 ", device xla:0",
                          writer->host, host_count);
    if (chip[0] != '\0') {
        writing_append(writer->text, ": ");
        append_device_kind(writer->text, chip);
    }
    writing_append(writer->text, "\n");
}

void job_words_step(const struct job_writer *writer, uint64_t step, uint64_t step_count,
                    double seconds, double loss)
{
    append_prefix(writer, "metric_logger.py:196");
    if (writer->framework == JOB_JAX) {
        writing_append_format(writer->text,
                              "completed step: %" PRIu64 ", seconds: %.3f, loss: %.3f\n", step,
                              seconds, loss);
    } else {
        writing_append_format(writer->text, "step %" PRIu64 "/%" PRIu64 " loss=%.4f time=%.3fs\n",
                              step, step_count, loss, seconds);
    }
}

void job_words_line(const struct job_writer *writer, const char *where, const char *format, ...)
{
    char words[160];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    append_prefix(writer, where);
    writing_append_format(writer->text, "%s\n", words);
}

/* --- its end --- */

/* Where a user's program stands when it makes that request: function, file and line of each frame,
 * the innermost last.  The loop of the job calls them all. */
struct job_frame {
    const char *tags[2]; /* of what is requested */
    const char *file, *function;
    const char *jax, *torch_xla; /* the words of the line */
    int line, loop_line;
};
/* The last one is that of all other requests. */
static const struct job_frame frames[] = {
    {{"batch"},
     "input_pipeline.py",
     "put_on_device",
     "return jax.tree.map(lambda x: jax.device_put(x, sharding), batch)",
     "return xm.send_cpu_data_to_device(batch, device)",
     74,
     158},
    {{"logged_metrics"},
     "metric_logger.py",
     "log_step",
     "self.history.append(jax.tree.map(jnp.asarray, metrics))",
     "self.history.append({k: v.clone() for k, v in metrics.items()})",
     203,
     166},
    {{"checkpoint"},
     "checkpointing.py",
     "save",
     "snapshot = jax.tree.map(jnp.copy, state)",
     "snapshot = {k: v.clone() for k, v in state.items()}",
     121,
     174},
    {{"logits", "evaluate"},
     "evaluate.py",
     "run_evaluation",
     "logits = eval_fn(state.params, batch)",
     "torch_xla.sync()",
     52,
     170},
    {{"gradient_bucket", "all_reduce"},
     "gradients.py",
     "reduce_bucket",
     "bucket = psum_fn(jnp.concatenate(parts))",
     "xm.all_reduce(xm.REDUCE_SUM, parts)",
     39,
     163},
    {{"stage_exchange", "send_stage"},
     "pipeline.py",
     "send_forward",
     "return permute_fn(hidden, stage)",
     "return xm.collective_permute(hidden, pairs)",
     65,
     162},
    {{NULL},
     "train.py",
     "train_loop",
     "state, metrics = step_fn(state, batch)",
     "torch_xla.sync()",
     161,
     161}};

static const struct job_frame *find_frame(const char *tag)
{
    const struct job_frame *frame = frames;
    for (; frame->tags[0] != NULL; frame++) {
        for (size_t i = 0; i < 2 && frame->tags[i] != NULL; i++) {
            if (strcmp(frame->tags[i], tag) == 0) {
                return frame;
            }
        }
    }
    return frame;
}

static void append_frame(const struct job_writer *writer, const char *path, int line,
                         const char *function, const char *words)
{
    append_label(writer);
    writing_append_format(writer->text, "  File \"%s\", line %d, in %s\n", path, line, function);
    append_label(writer);
    writing_append_format(writer->text, "    %s\n", words);
}

/* A traceback, up to the name of the exception and what the framework puts behind it. */
static void append_traceback(const struct job_writer *writer, const struct job_frame *frame)
{
    char path[80];
    const bool is_jax = writer->framework == JOB_JAX;
    append_line(writer, "Traceback (most recent call last):");
    append_frame(writer, "/job/train.py", 212, "<module>", is_jax ? "app.run(main)" : "main()");
    append_frame(writer, "/job/train.py", 205, "main", "train_loop(config, mesh)");
    if (strcmp(frame->function, "train_loop") != 0) {
        append_frame(writer, "/job/train.py", frame->loop_line, "train_loop", "step_hooks(step)");
    }
    (void)snprintf(path, sizeof path, "/job/%s", frame->file);
    append_frame(writer, path, frame->line, frame->function,
                 is_jax ? frame->jax : frame->torch_xla);
    append_label(writer);
    writing_append(writer->text,
                   is_jax ? "jax.errors.JaxRuntimeError: " : "RuntimeError: Bad StatusOr access: ");
}

void job_words_out_of_memory(const struct job_writer *writer, const char *tag, const char *message)
{
    append_traceback(writer, find_frame(tag));
    for (size_t length; *message != '\0'; message += length) {
        length = strcspn(message, "\n");
        writing_append_bytes(writer->text, message, length);
        length += message[length] == '\n';
        if (message[length] != '\0') {
            writing_append(writer->text, "\n");
            append_label(writer);
        }
    }
    writing_append(writer->text, "\n");
}

void job_words_timed_out(const struct job_writer *writer, const char *collective, uint64_t missing)
{
    if (writer->framework == JOB_JAX) {
        append_glog(writer, 'E', "coordination.py:310");
    } else {
        append_traceback(writer, find_frame(""));
    }
    writing_append_format(writer->text,
                          "DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: %s. Timed out task "
                          "names:\n",
                          collective);
    for (uint32_t host = 0; host < OP_HOST_COUNT_MAX; host++) {
        if ((missing >> host & 1) != 0) {
            append_label(writer);
            writing_append_format(writer->text, "/job:jax_worker/replica:0/task:%" PRIu32 "\n",
                                  host);
        }
    }
}

/* --- torchrun, one on each host --- */

#define RULER "============================================================"
#define THIN_RULER "------------------------------------------------------------"

static void append_item(const struct job_writer *writer, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append_item(const struct job_writer *writer, const char *key, const char *format, ...)
{
    char value[160];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    append_label(writer);
    writing_append_format(writer->text, "  %-10s: %s\n", key, value);
}

/* What it saw, and when. */
static void append_root_cause(const struct job_writer *writer, int code)
{
    const struct tm time = read_clock(writer);
    const uint32_t process = process_of(writer->host);
    append_line(writer, "Root Cause (first observed failure):");
    append_line(writer, "[0]:");
    append_item(writer, "time", "%04d-%02d-%02d_%02d:%02d:%02d", time.tm_year + 1900,
                time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec);
    append_item(writer, "host", "node-%" PRIu32, writer->host);
    append_item(writer, "rank", "%" PRIu32 " (local_rank: 0)", writer->host);
    append_item(writer, "exitcode", "%d (pid: %" PRIu32 ")", code, process);
    append_item(writer, "error_file", "<N/A>");
    if (code < 0) {
        append_item(writer, "traceback", "Signal %d (SIGKILL) received by PID %" PRIu32, -code,
                    process);
    } else {
        append_item(writer, "traceback",
                    "To enable traceback see: "
                    "https://pytorch.org/docs/stable/elastic/errors.html");
    }
}

void job_words_child_failed(const struct job_writer *writer, int signal)
{
    const int code = signal == 0 ? 1 : -signal;
    if (writer->framework != JOB_TORCH_XLA) {
        return;
    }
    append_glog(writer, 'E', "torch/distributed/elastic/multiprocessing/api.py:874");
    writing_append_format(writer->text,
                          "failed (exitcode: %d) local_rank: 0 (pid: %" PRIu32
                          ") of binary: /usr/bin/python3\n",
                          code, process_of(writer->host));
    append_line(writer, "Traceback (most recent call last):");
    append_frame(writer, "/usr/local/bin/torchrun", 8, "<module>", "sys.exit(main())");
    append_line(writer, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ");
    append_line(writer, RULER);
    append_line(writer, "train.py FAILED");
    append_line(writer, THIN_RULER);
    append_line(writer, "Failures:");
    append_line(writer, "  <NO_OTHER_FAILURES>");
    append_line(writer, THIN_RULER);
    append_root_cause(writer, code);
    append_line(writer, RULER);
}

/* --- the launcher of all hosts --- */

void job_words_killed(const struct job_writer *writer, bool by_memory)
{
    if (writer->launcher == JOB_MPIRUN) { /* it sees a signal, whoever sent it */
        writing_append_format(writer->text,
                              "mpirun noticed that process rank %" PRIu32 " with PID %" PRIu32
                              " on node node-%" PRIu32 " exited on signal 9 (Killed).\n",
                              writer->host, process_of(writer->host), writer->host);
        return;
    }
    if (by_memory) {
        writing_append_format(writer->text,
                              "slurmstepd: error: Detected 1 oom_kill event in StepId=%d.0. Some "
                              "of the step tasks have been OOM Killed.\n",
                              JOB_NUMBER);
    }
    writing_append_format(writer->text, "srun: error: node-%" PRIu32 ": task %" PRIu32 ": %s\n",
                          writer->host, writer->host, by_memory ? "Out Of Memory" : "Killed");
}

void job_words_exited(const struct job_writer *writer)
{
    if (writer->launcher == JOB_SRUN) {
        writing_append_format(writer->text,
                              "srun: error: node-%" PRIu32 ": task %" PRIu32
                              ": Exited with exit code 1\n",
                              writer->host, writer->host);
    }
}
