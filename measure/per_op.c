#include "measure/per_op.h"

#include "harness/base/check.h"
#include "harness/base/random.h"
#include "harness/run/run.h"
#include "measure/clock.h"
#include "measure/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPEAT_COUNT_MAX = 64,
    OPS_PER_CLOCK = 512, /* the clock is read so seldom that it does not show */
};

/* One repeat: prepares with begin, runs op after op, and says how many requests were refused. */
struct op_subject {
    const struct measured_target *measured; /* NULL for the empty loop */
    const struct target *target;
    const struct op_workload *workload;
    uint64_t *handles; /* by op; 0 = no block */
    struct target_instance *instance;
    struct run *run;
    uint64_t refused_count;
    uint64_t sum; /* keeps the empty loop from being optimised away */
    char *note;   /* MEASURE_NOTE_BYTES */
};

struct subject_kind {
    bool (*begin)(struct op_subject *subject);
    /* Runs ops[from, to).  False: it can go no further. */
    bool (*run)(struct op_subject *subject, size_t from, size_t to);
    void (*end)(struct op_subject *subject);
};

/* --- empty --- */

static bool empty_begin(struct op_subject *subject)
{
    (void)subject;
    return true;
}

static bool empty_run(struct op_subject *subject, size_t from, size_t to)
{
    const struct op *ops = subject->workload->ops.ops;
    for (size_t i = from; i < to; i++) {
        if (ops[i].kind == OP_FREE) {
            subject->sum += subject->handles[ops[i].ref];
        } else {
            subject->handles[i] = ops[i].size_bytes;
        }
    }
    return true;
}

static void empty_end(struct op_subject *subject)
{
    volatile uint64_t sink = subject->sum;
    (void)sink;
}

static const struct subject_kind empty_kind = {empty_begin, empty_run, empty_end};

/* --- raw --- */

static bool raw_begin(struct op_subject *subject)
{
    return bare_open(subject->target, subject->measured->setup, &subject->instance, subject->note,
                     MEASURE_NOTE_BYTES);
}

static void raw_alloc(struct op_subject *subject, size_t i)
{
    struct target_request request = {.id = i + 1,
                                     .size_bytes = subject->workload->ops.ops[i].size_bytes,
                                     .kind = BLOCK_BUFFER,
                                     .tag_name = ""};
    struct target_block block;
    if (subject->target->alloc(subject->instance, &request, &block) == TARGET_OK) {
        subject->handles[i] = block.handle;
    } else {
        subject->refused_count++;
    }
}

static bool raw_run(struct op_subject *subject, size_t from, size_t to)
{
    const struct op *ops = subject->workload->ops.ops;
    for (size_t i = from; i < to; i++) {
        if (ops[i].kind == OP_ALLOC) {
            raw_alloc(subject, i);
        } else if (subject->handles[ops[i].ref] != 0) {
            (void)subject->target->free(subject->instance, subject->handles[ops[i].ref], 0);
        }
    }
    return true;
}

static void raw_end(struct op_subject *subject)
{
    subject->target->close(subject->instance);
}

static const struct subject_kind raw_kind = {raw_begin, raw_run, raw_end};

/* --- checked --- */

static bool checked_begin(struct op_subject *subject)
{
    char reason[RUN_REASON_BYTES];
    subject->run = run_create(subject->target, subject->measured->setup, reason);
    if (subject->run == NULL) {
        (void)snprintf(subject->note, MEASURE_NOTE_BYTES, "%s", reason);
    }
    return subject->run != NULL;
}

static bool checked_run(struct op_subject *subject, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct verdict *verdict = run_step(subject->run, &subject->workload->ops.ops[i]);
        if (verdict->kind == VERDICT_NONE) {
            continue;
        }
        subject->refused_count += verdict->kind != VERDICT_BROKEN;
        if (run_is_broken(subject->run)) {
            (void)snprintf(subject->note, MEASURE_NOTE_BYTES, "ended at op %zu: %s", i,
                           rule_info(verdict->rule)->name);
            return false;
        }
    }
    return true;
}

static void checked_end(struct op_subject *subject)
{
    run_destroy(subject->run);
}

static const struct subject_kind checked_kind = {checked_begin, checked_run, checked_end};

/* --- one loop for all three --- */

/* A function of its own, never at the end of another one: callgrind counts what is done in here
 * (ci/instructions). */
__attribute__((noinline)) static bool run_steady_ops(const struct subject_kind *kind,
                                                     struct op_subject *subject, size_t from,
                                                     size_t to)
{
    const bool goes_on = kind->run(subject, from, to);
    __asm__ volatile("" ::: "memory");
    return goes_on;
}

static bool is_stopped(const struct measure_limits *limits)
{
    return limits->is_stopped != NULL && limits->is_stopped();
}

static size_t find_chunk_end(size_t from, size_t to)
{
    return to - from < OPS_PER_CLOCK ? to : from + OPS_PER_CLOCK;
}

/* False: the fill does not go through. */
static bool fill(const struct subject_kind *kind, struct op_subject *subject,
                 const struct measure_limits *limits)
{
    const size_t count = subject->workload->fill_count;
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < count;) {
        const size_t to = find_chunk_end(i, count);
        goes_on = kind->run(subject, i, to) && !is_stopped(limits);
        i = to;
    }
    return goes_on;
}

/* Times the ops after the fill; false: not even the fill went through. */
static bool time_ops(const struct subject_kind *kind, struct op_subject *subject,
                     const struct measure_limits *limits, struct measurement *repeat)
{
    const size_t from = subject->workload->fill_count;
    const size_t count = subject->workload->ops.count;
    if (!fill(kind, subject, limits)) {
        return false;
    }
    subject->refused_count = 0;
    const uint64_t start_ns = read_clock_ns(CLOCK_MONOTONIC);
    const double start_cpu_ns = read_cpu_ns();
    double elapsed_ns = 0;
    size_t i = from;
    for (bool goes_on = true;
         goes_on && i < count && elapsed_ns < limits->second_count_max * 1e9;) {
        const size_t to = find_chunk_end(i, count);
        goes_on = run_steady_ops(kind, subject, i, to) && !is_stopped(limits);
        elapsed_ns = (double)(read_clock_ns(CLOCK_MONOTONIC) - start_ns);
        i = to;
    }
    const double cpu_ns = read_cpu_ns() - start_cpu_ns;
    repeat->op_count = i - from;
    repeat->ns_per_op = cpu_ns / (double)repeat->op_count;
    repeat->refused_count = subject->refused_count;
    return true;
}

static int compare_measurements(const void *a, const void *b)
{
    const struct measurement *left = a, *right = b;
    return (left->ns_per_op > right->ns_per_op) - (left->ns_per_op < right->ns_per_op);
}

static void measure_target(const struct subject_kind *kind, const struct measured_target *target,
                           const struct op_workload *workload, const struct measure_limits *limits,
                           struct measurement *result)
{
    CHECK(limits->repeat_count >= 1 && limits->repeat_count <= REPEAT_COUNT_MAX);
    struct measurement repeats[REPEAT_COUNT_MAX];
    memset(repeats, 0, sizeof repeats);
    memset(result, 0, sizeof *result);
    uint32_t done_count = 0;
    const size_t handle_bytes = workload->ops.count * sizeof(uint64_t);
    uint64_t *handles = malloc(handle_bytes);
    CHECK(handles != NULL);
    const double end_ns = limits->second_count_total > 0 ? (double)read_clock_ns(CLOCK_MONOTONIC) +
                                                               limits->second_count_total * 1e9
                                                         : INFINITY;
    for (uint32_t i = 0;
         i < limits->repeat_count && (i == 0 || (double)read_clock_ns(CLOCK_MONOTONIC) < end_ns) &&
         !is_stopped(limits);
         i++) {
        struct op_subject subject = {.measured = target,
                                     .target = target != NULL ? target->target : NULL,
                                     .workload = workload,
                                     .handles = handles,
                                     .note = result->note};
        memset(handles, 0,
               handle_bytes); /* here, so that no page is touched first while the clock runs */
        if (kind->begin(&subject)) {
            done_count += time_ops(kind, &subject, limits, &repeats[done_count]);
            kind->end(&subject);
        }
    }
    free(handles);
    if (done_count == 0) {
        return;
    }
    qsort(repeats, done_count, sizeof *repeats, compare_measurements);
    const struct measurement *median = &repeats[done_count / 2];
    result->ns_per_op = median->ns_per_op;
    result->ns_least = repeats[0].ns_per_op;
    result->op_count = median->op_count;
    result->refused_count = median->refused_count;
}

void measure_empty(const struct op_workload *workload, const struct measure_limits *limits,
                   struct measurement *result)
{
    measure_target(&empty_kind, NULL, workload, limits, result);
}

void measure_raw(const struct measured_target *target, const struct op_workload *workload,
                 const struct measure_limits *limits, struct measurement *result)
{
    measure_target(&raw_kind, target, workload, limits, result);
}

void measure_checked(const struct measured_target *target, const struct op_workload *workload,
                     const struct measure_limits *limits, struct measurement *result)
{
    measure_target(&checked_kind, target, workload, limits, result);
}

enum {
    SIZE_BYTES_MIN = 512,
    CAPACITY_MULTIPLE_BYTES = 16384,
};

static void append_alloc(struct op_workload *workload, uint64_t size_bytes)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size_bytes;
    op_list_append(&workload->ops, &op);
}

static void append_free(struct op_workload *workload, uint32_t ref)
{
    struct op op = op_make(OP_FREE);
    op.ref = ref;
    op_list_append(&workload->ops, &op);
}

static uint64_t draw_size_bytes(struct random *random)
{
    return random_log_uniform(random, SIZE_BYTES_MIN, WORKLOAD_SIZE_BYTES_MAX);
}

uint64_t workload_capacity_bytes(uint64_t live_bytes, uint32_t full_percent)
{
    CHECK(full_percent >= 1 && full_percent <= 100);
    const uint64_t capacity_bytes = live_bytes / full_percent * 100;
    return (capacity_bytes / CAPACITY_MULTIPLE_BYTES + 1) * CAPACITY_MULTIPLE_BYTES;
}

void workload_init(struct op_workload *workload, uint32_t block_count, uint32_t step_count,
                   uint64_t seed)
{
    CHECK(block_count >= 1 && block_count <= 1u << 24);
    struct random random;
    random_init(&random, seed);
    op_list_init(&workload->ops);
    uint32_t *maker = calloc(block_count,
                             sizeof *maker); /* the op that made the block in each slot */
    CHECK(maker != NULL);
    uint64_t live_bytes = 0;
    for (uint32_t i = 0; i < block_count; i++) {
        const uint64_t size_bytes = draw_size_bytes(&random);
        live_bytes += size_bytes;
        maker[i] = i;
        append_alloc(workload, size_bytes);
    }
    for (uint32_t i = 0; i < step_count; i++) {
        const uint32_t slot = (uint32_t)random_below(&random, block_count);
        append_free(workload, maker[slot]);
        maker[slot] = (uint32_t)workload->ops.count;
        append_alloc(workload, draw_size_bytes(&random));
    }
    free(maker);
    workload->fill_count = block_count;
    workload->live_bytes = live_bytes;
}

void workload_deinit(struct op_workload *workload)
{
    op_list_deinit(&workload->ops);
}
