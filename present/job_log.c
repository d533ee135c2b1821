#include "present/job_log.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/generate/scenario_option.h"
#include "present/job_words.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Of one host. */
struct host_log {
    struct writing text;
    uint64_t steps;    /* executions of train_step so far */
    uint64_t printed;  /* of them that have their line */
    uint64_t began_ns; /* the last one that was printed, by its clock */
    uint64_t last_ns;  /* its clock at its last op */
    bool is_over;      /* its process ended, or stands for good */
    bool has_failed;   /* with an error of its own */
};
struct job_log {
    size_t op_count; /* that were looked at */
    struct host_log hosts[OP_HOST_COUNT_MAX];
    struct writing launcher;
};

struct job_log *job_log_create(void)
{
    struct job_log *log = calloc(1, sizeof *log);
    CHECK(log != NULL);
    return log;
}

void job_log_destroy(struct job_log *log)
{
    if (log == NULL) {
        return;
    }
    for (size_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        writing_deinit(&log->hosts[i].text);
    }
    writing_deinit(&log->launcher);
    free(log);
}

size_t job_log_take(struct job_log *log, uint32_t host, struct writing *text)
{
    struct writing *taken = host == JOB_LOG_LAUNCHER ? &log->launcher : &log->hosts[host].text;
    const size_t length = taken->length;
    writing_append_bytes(text, taken->bytes, length);
    writing_deinit(taken);
    return length;
}

/* --- lines --- */

/* What the host's clock shows when so much of its time has passed. */
static uint64_t read_clock(const struct run *run, uint32_t host, uint64_t now_ns)
{
    return setup_clock_reading(&run_setup(run)->clocks[host], now_ns);
}

static bool is_option(const struct run *run, const char *key, const char *value)
{
    const char *given = scenario_option_given(run_setup(run), key);
    return given != NULL && strcmp(given, value) == 0;
}

static struct job_writer writer_of(struct job_log *log, const struct run *run, uint32_t host,
                                   uint64_t clock_ns)
{
    return (struct job_writer){
        .text = &log->hosts[host].text,
        .framework = is_option(run, "framework", "torch_xla") ? JOB_TORCH_XLA : JOB_JAX,
        .launcher = is_option(run, "launcher", "mpirun") ? JOB_MPIRUN : JOB_SRUN,
        .host = host,
        .clock_ns = clock_ns};
}

/* Falls from 10.8 towards 2, with a little noise that is the same on all hosts: they share it. */
static double loss_of(uint64_t step)
{
    const uint64_t mixed = (step + 1) * UINT64_C(0x9E3779B97F4A7C15);
    const double noise = (double)(mixed >> 40) / (double)(1 << 24) - 0.5;
    return 2.0 + 8.8 / (1.0 + (double)step / 900.0) + 0.12 * noise;
}

static void print_step(struct host_log *log, const struct job_writer *writer, const struct run *run)
{
    const uint64_t step = log->printed++;
    const uint64_t clock_ns = writer->clock_ns;
    const double seconds = log->began_ns == 0 || clock_ns < log->began_ns
                               ? 0.0
                               : (double)(clock_ns - log->began_ns) / 1e9;
    job_words_step(writer, step, run_setup(run)->until_step, seconds, loss_of(step));
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

static void print_out_of_memory(struct host_log *log, const struct job_writer *writer,
                                const struct run *run, const struct op *op)
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
    job_words_out_of_memory(writer, tag, message);
    job_words_child_failed(writer, 0);
    log->is_over = log->has_failed = true;
}

static void note_execution(struct host_log *log, const struct job_writer *writer,
                           const struct run *run, const struct op *op)
{
    const char *name = program_name(run, op);
    if (strcmp(name, "train_step") == 0) {
        log->steps++;
    } else if (strcmp(name, "evaluate") == 0) {
        job_words_line(writer, "evaluate.py:58", "eval loss: %.3f", loss_of(log->steps) + 0.1);
    }
}

/* What a job prints when an op of its went well. */
static void note_success(struct host_log *log, const struct job_writer *writer,
                         const struct run *run, const struct op *op)
{
    switch ((enum op_kind)op->kind) {
    case OP_ADVANCE: /* the host turns to the next step */
        if (log->printed < log->steps) {
            print_step(log, writer, run);
        }
        return;
    case OP_LOAD:
        job_words_line(writer, "compiler.py:88",
                       writer->framework == JOB_JAX ? "Finished compilation of jit(%s)"
                                                    : "Compiled the graph of %s",
                       tag_name(run, op));
        return;
    case OP_EXECUTE:
        note_execution(log, writer, run, op);
        return;
    case OP_ALLOC:
        if (strcmp(tag_name(run, op), "checkpoint") == 0) {
            job_words_line(writer, "checkpointing.py:133",
                           "Saving a checkpoint to gs://runs/checkpoints");
        }
        return;
    default:
        return;
    }
}

static void note_op(struct job_log *log, const struct run *run, const struct op *op)
{
    const struct observation *seen = run_observation(run);
    struct host_log *host_log = &log->hosts[op->host];
    if (host_log->is_over || seen->skipped != 0 || op->kind == OP_FAULT) {
        return;
    }
    host_log->last_ns = read_clock(run, op->host, model_now_ns(run_model(run, op->host)));
    const struct job_writer writer = writer_of(log, run, op->host, host_log->last_ns);
    if (seen->result == TARGET_NO_MEMORY) {
        print_out_of_memory(host_log, &writer, run, op);
    } else if (seen->result == TARGET_OK) {
        note_success(host_log, &writer, run, op);
    }
}

/* --- the end of the job --- */

/* A collective's time-out names those who did not come. */
static void print_time_out(struct job_log *log, const struct vain_wait *wait, const struct run *run)
{
    struct host_log *host_log = &log->hosts[wait->host];
    const uint64_t bound_ns = setup_collective_bound_ns(run_setup(run));
    const char *group = setup_group_name(run_setup(run), wait->group);
    host_log->is_over = true;
    if (bound_ns == DELAY_NEVER) {
        return; /* it stands, and prints nothing */
    }
    const uint64_t clock_ns = read_clock(run, wait->host, delay_after_ns(wait->since_ns, bound_ns));
    const struct job_writer writer = writer_of(log, run, wait->host, clock_ns);
    job_words_timed_out(&writer, group[0] == '\0' ? "all" : group, wait->missing);
    job_words_child_failed(&writer, 0);
    host_log->has_failed = true;
}

/* A host that did all its steps. */
static void finish_host(struct job_log *log, uint32_t host, const struct run *run)
{
    struct host_log *host_log = &log->hosts[host];
    const struct job_writer writer = writer_of(log, run, host, host_log->last_ns);
    if (host_log->printed < host_log->steps) {
        print_step(host_log, &writer, run);
    }
    job_words_line(&writer, "train.py:186", "Training finished");
    host_log->is_over = true;
}

/* The host that the scenario has killed, unless it ended otherwise before; of it the launcher
 * speaks. */
static void print_killed(struct job_log *log, uint32_t host, const struct run *run)
{
    struct job_writer writer = writer_of(log, run, host, log->hosts[host].last_ns);
    job_words_child_failed(&writer, SIGKILL);
    writer.text = &log->launcher;
    job_words_killed(&writer, !is_option(run, "killed_by", "signal"));
}

static void print_launcher(struct job_log *log, const struct run *run)
{
    const char *killed = scenario_option_given(run_setup(run), "killed");
    uint64_t host;
    if (killed == NULL || !number_parse(killed, strlen(killed), &host) ||
        host >= run_setup(run)->host_count || log->hosts[host].is_over) {
        return;
    }
    print_killed(log, (uint32_t)host, run);
    for (uint32_t other = 0; other < run_setup(run)->host_count; other++) {
        if (log->hosts[other].has_failed) {
            struct job_writer writer = writer_of(log, run, other, 0);
            writer.text = &log->launcher;
            job_words_exited(&writer);
        }
    }
}

static void finish_log(struct job_log *log, const struct run *run)
{
    const struct waits *waits = run_waits(run);
    for (size_t i = 0; i < waits->count; i++) {
        struct host_log *host_log = &log->hosts[waits->waits[i].host];
        if (waits->waits[i].until == OP_NONE && !host_log->is_over) {
            print_time_out(log, &waits->waits[i], run);
        }
    }
    for (uint32_t host = 0; host < run_setup(run)->host_count; host++) {
        const struct host_log *host_log = &log->hosts[host];
        if (!host_log->is_over && host_log->steps >= run_setup(run)->until_step) {
            finish_host(log, host, run);
        }
    }
    print_launcher(log, run);
}

void job_log_step(struct job_log *log, const struct run *run)
{
    const struct op_list *ops = run_ops(run);
    if (ops->count == log->op_count) {
        finish_log(log, run);
        return;
    }
    const uint32_t host_count = run_setup(run)->host_count;
    for (uint32_t host = 0; host < host_count && log->op_count == 0; host++) {
        const struct job_writer writer = writer_of(log, run, host, read_clock(run, host, 0));
        job_words_begin(&writer, host_count, run_setup(run)->chip);
    }
    log->op_count = ops->count;
    note_op(log, run, &ops->ops[ops->count - 1]);
}
