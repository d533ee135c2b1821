#include "reports/job_log.h"

#include "harness/base/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of one host. */
struct host_log {
    struct writing text;
    uint64_t steps;    /* executions of train_step so far */
    uint64_t printed;  /* of them that have their line */
    uint64_t began_ns; /* the last one that was printed, by its clock */
    uint64_t last_ns;  /* its clock at its last op */
    bool is_over;      /* its process ended */
};
struct job_log {
    size_t op_count; /* that were looked at */
    struct host_log hosts[OP_HOST_COUNT_MAX];
};

struct job_log *job_log_create(void)
{
    struct job_log *log = calloc(1, sizeof *log);
    CHECK(log != NULL);
    for (size_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        writing_init(&log->hosts[i].text);
    }
    return log;
}

void job_log_destroy(struct job_log *log)
{
    for (size_t i = 0; log != NULL && i < OP_HOST_COUNT_MAX; i++) {
        writing_deinit(&log->hosts[i].text);
    }
    free(log);
}

const struct writing *job_log_text(const struct job_log *log, uint32_t host)
{
    return &log->hosts[host].text;
}

/* --- lines --- */

/* Where a job begins to count its time: 2 March 2026, 08:00 UTC. */
#define JOB_BEGINS_S INT64_C(1772438400)
/* Processes of one program, started one after the other. */
enum { PROCESS_FIRST = 4021, PROCESS_STRIDE = 7 };

/* What the host's clock shows when so much of its time has passed. */
static uint64_t read_clock(const struct run *run, uint32_t host, uint64_t now_ns)
{
    return setup_clock_reading(&run_setup(run)->clocks[host], now_ns);
}

/* What a logger of absl puts in front: "I0302 08:01:00.964 4021 train.py:88] ", and the launcher in
 * front of that, so that the logs of all hosts can be read as one. */
static void append_prefix(struct host_log *log, uint32_t host, char severity, uint64_t clock_ns,
                          const char *where)
{
    const time_t seconds = (time_t)(JOB_BEGINS_S + (int64_t)(clock_ns / 1000000000));
    struct tm parts;
    CHECK(gmtime_r(&seconds, &parts) != NULL);
    writing_append_format(
        &log->text, "%" PRIu32 ": %c%02d%02d %02d:%02d:%02d.%06" PRIu64 " %" PRIu32 " %s] ", host,
        severity, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
        clock_ns % 1000000000 / 1000, PROCESS_FIRST + host * PROCESS_STRIDE, where);
}

/* Falls from 10.8 towards 2, with a little noise that is the same on all hosts: they share it. */
static double loss_of(uint64_t step)
{
    const uint64_t mixed = (step + 1) * UINT64_C(0x9E3779B97F4A7C15);
    const double noise = (double)(mixed >> 40) / (double)(1 << 24) - 0.5;
    return 2.0 + 8.8 / (1.0 + (double)step / 900.0) + 0.12 * noise;
}

static void print_step(struct host_log *log, uint32_t host, uint64_t clock_ns)
{
    const uint64_t step = log->printed++;
    const double seconds = log->began_ns == 0 || clock_ns < log->began_ns
                               ? 0.0
                               : (double)(clock_ns - log->began_ns) / 1e9;
    append_prefix(log, host, 'I', clock_ns, "metric_logger.py:196");
    writing_append_format(&log->text, "completed step: %" PRIu64 ", seconds: %.3f, loss: %.3f\n",
                          step, seconds, loss_of(step));
    log->began_ns = clock_ns;
}

/* --- what a host does --- */

static const char *tag_name(const struct run *run, const struct op *op)
{
    return run_setup(run)->tags[op->tag];
}

/* The tag of the program, which the op that loaded it has. */
static const char *program_name(const struct run *run, const struct op *op)
{
    const struct op_list *ops = run_ops(run);
    return op->ref < ops->count ? tag_name(run, &ops->ops[op->ref]) : "";
}

/* Where a user's program stands when it makes that request: function, file and line of each frame,
 * the innermost last.  The loop of the job calls them all. */
struct frame {
    const char *tag; /* of what is requested; NULL = of all others */
    const char *file, *function, *words;
    int line, loop_line;
};
static const struct frame frames[] = {
    {"batch", "input_pipeline.py", "put_on_device",
     "return jax.tree.map(lambda x: jax.device_put(x, sharding), batch)", 74, 158},
    {"metrics", "train.py", "train_loop", "state, metrics = step_fn(state, batch)", 161, 161},
    {"logged_metrics", "metric_logger.py", "log_step",
     "self.history.append(jax.tree.map(jnp.asarray, metrics))", 203, 166},
    {"checkpoint", "checkpointing.py", "save", "snapshot = jax.tree.map(jnp.copy, state)", 121,
     174},
    {"logits", "evaluate.py", "run_evaluation", "logits = eval_fn(state.params, batch)", 52, 170},
    {"gradient_bucket", "gradients.py", "reduce_bucket", "bucket = psum_fn(jnp.concatenate(parts))",
     39, 163},
    {"all_reduce", "gradients.py", "reduce_bucket", "bucket = psum_fn(jnp.concatenate(parts))", 39,
     163},
    {"evaluate", "evaluate.py", "run_evaluation", "logits = eval_fn(state.params, batch)", 52, 170},
    {"stage_exchange", "pipeline.py", "send_forward", "return permute_fn(hidden, stage)", 65, 162},
    {"send_stage", "pipeline.py", "send_forward", "return permute_fn(hidden, stage)", 65, 162},
    {NULL, "train.py", "train_loop", "state, metrics = step_fn(state, batch)", 161, 161},
};

static const struct frame *find_frame(const char *tag)
{
    const struct frame *frame = frames;
    while (frame->tag != NULL && strcmp(frame->tag, tag) != 0) {
        frame++;
    }
    return frame;
}

static void append_frame(struct host_log *log, uint32_t host, const char *file, int line,
                         const char *function, const char *words)
{
    writing_append_format(&log->text, "%" PRIu32 ":   File \"/job/%s\", line %d, in %s\n", host,
                          file, line, function);
    writing_append_format(&log->text, "%" PRIu32 ":     %s\n", host, words);
}

/* The traceback that ends a process, up to the name of the exception. */
static void append_traceback(struct host_log *log, uint32_t host, const struct frame *frame)
{
    writing_append_format(&log->text, "%" PRIu32 ": Traceback (most recent call last):\n", host);
    append_frame(log, host, "train.py", 212, "<module>", "app.run(main)");
    append_frame(log, host, "train.py", 205, "main", "train_loop(config, mesh)");
    if (strcmp(frame->function, "train_loop") != 0) {
        append_frame(log, host, "train.py", frame->loop_line, "train_loop", "step_hooks(step)");
    }
    append_frame(log, host, frame->file, frame->line, frame->function, frame->words);
    writing_append_format(&log->text, "%" PRIu32 ": jax.errors.JaxRuntimeError: ", host);
}

/* The message of the allocator, line by line. */
static void append_message(struct host_log *log, uint32_t host, const char *message)
{
    for (size_t length; *message != '\0'; message += length) {
        length = strcspn(message, "\n");
        writing_append_bytes(&log->text, message, length);
        length += message[length] == '\n';
        if (message[length] != '\0') {
            writing_append_format(&log->text, "\n%" PRIu32 ": ", host);
        }
    }
    writing_append(&log->text, "\n");
}

static void print_out_of_memory(struct host_log *log, uint32_t host, const struct run *run,
                                const struct op *op)
{
    const char *message = run_message(run);
    char plain[80];
    const char *tag = op->kind == OP_EXECUTE ? program_name(run, op) : tag_name(run, op);
    if (message[0] == '\0') { /* a target without words of its own */
        (void)snprintf(plain, sizeof plain,
                       "RESOURCE_EXHAUSTED: Out of memory while trying to allocate %" PRIu64
                       " bytes.",
                       op->size_bytes);
        message = plain;
    }
    append_traceback(log, host, find_frame(tag));
    append_message(log, host, message);
    log->is_over = true;
}

static void note_execution(struct host_log *log, uint32_t host, const struct run *run,
                           const struct op *op, uint64_t clock_ns)
{
    const char *name = program_name(run, op);
    if (strcmp(name, "train_step") == 0) {
        log->steps++;
    } else if (strcmp(name, "evaluate") == 0) {
        append_prefix(log, host, 'I', clock_ns, "evaluate.py:58");
        writing_append_format(&log->text, "eval loss: %.3f\n", loss_of(log->steps) + 0.1);
    }
}

/* What a job prints when an op of its went well. */
static void note_success(struct host_log *log, uint32_t host, const struct run *run,
                         const struct op *op, uint64_t clock_ns)
{
    switch ((enum op_kind)op->kind) {
    case OP_ADVANCE: /* the host turns to the next step */
        if (log->printed < log->steps) {
            print_step(log, host, clock_ns);
        }
        return;
    case OP_LOAD:
        append_prefix(log, host, 'I', clock_ns, "compiler.py:88");
        writing_append_format(&log->text, "Finished compilation of jit(%s)\n", tag_name(run, op));
        return;
    case OP_EXECUTE:
        note_execution(log, host, run, op, clock_ns);
        return;
    case OP_ALLOC:
        if (strcmp(tag_name(run, op), "checkpoint") == 0) {
            append_prefix(log, host, 'I', clock_ns, "checkpointing.py:133");
            writing_append(&log->text, "Saving a checkpoint to gs://runs/checkpoints\n");
        }
        return;
    default:
        return;
    }
}

/* The first line of a log: as many processes as there are hosts, and which one this is. */
static void print_head(struct host_log *log, uint32_t host, const struct run *run)
{
    append_prefix(log, host, 'I', read_clock(run, host, 0), "distributed.py:151");
    const char *chip = run_setup(run)->chip;
    writing_append_format(
        &log->text, "JAX process %" PRIu32 " of %" PRIu32 ", 1 local device%s%s\n", host,
        run_setup(run)->host_count, chip[0] == 'v' ? ": TPU " : "", chip[0] == 'v' ? chip : "");
}

static void note_op(struct job_log *log, const struct run *run, const struct op *op)
{
    const struct observation *seen = run_observation(run);
    struct host_log *host_log = &log->hosts[op->host];
    if (host_log->is_over || seen->skipped != 0 || op->kind == OP_FAULT) {
        return;
    }
    host_log->last_ns = read_clock(run, op->host, model_now_ns(run_model(run, op->host)));
    if (seen->result == TARGET_NO_MEMORY) {
        print_out_of_memory(host_log, op->host, run, op);
    } else if (seen->result == TARGET_OK) {
        note_success(host_log, op->host, run, op, host_log->last_ns);
    }
}

/* A collective's time-out names those who did not come. */
static void print_time_out(struct host_log *log, const struct wait *wait, const struct run *run)
{
    const uint64_t bound_ns = setup_collective_bound_ns(run_setup(run));
    const char *group = setup_group_name(run_setup(run), wait->group);
    if (bound_ns == DELAY_NEVER) {
        return; /* it stands, and prints nothing */
    }
    const uint64_t clock_ns = read_clock(run, wait->host, delay_after_ns(wait->since_ns, bound_ns));
    append_prefix(log, wait->host, 'E', clock_ns, "coordination.py:310");
    writing_append_format(&log->text, "DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: %s",
                          group[0] == '\0' ? "all" : group);
    writing_append(&log->text, ". Timed out task names:\n");
    for (uint32_t host = 0; host < OP_HOST_COUNT_MAX; host++) {
        if ((wait->missing >> host & 1) != 0) {
            writing_append_format(&log->text, "%u: /job:jax_worker/replica:0/task:%" PRIu32 "\n",
                                  wait->host, host);
        }
    }
    log->is_over = true;
}

static void finish_log(struct job_log *log, const struct run *run)
{
    const struct waits *waits = run_waits(run);
    for (size_t i = 0; i < waits->count; i++) {
        struct host_log *host_log = &log->hosts[waits->waits[i].host];
        if (waits->waits[i].until == OP_NONE && !host_log->is_over) {
            print_time_out(host_log, &waits->waits[i], run);
        }
    }
    for (uint32_t host = 0; host < run_setup(run)->host_count; host++) {
        struct host_log *host_log = &log->hosts[host];
        /* The last step of a job that nothing stopped. */
        if (waits->total == 0 && !host_log->is_over && host_log->printed < host_log->steps) {
            print_step(host_log, host, host_log->last_ns);
        }
    }
}

void job_log_step(struct job_log *log, const struct run *run)
{
    const struct op_list *ops = run_ops(run);
    if (ops->count == log->op_count) {
        finish_log(log, run);
        return;
    }
    if (log->op_count == 0) {
        for (uint32_t host = 0; host < run_setup(run)->host_count; host++) {
            print_head(&log->hosts[host], host, run);
        }
    }
    log->op_count = ops->count;
    note_op(log, run, &ops->ops[ops->count - 1]);
}
