/* What an op costs on this machine: of each target, its calls alone and under all checks. */
#include "campaign/base/interrupt.h"
#include "campaign/plan/lookup.h"
#include "harness/base/check.h"
#include "harness/op/limits.h"
#include "ladder/versus/versus.h"
#include "measure/per_op.h"

#include <math.h>
#include <string.h>

enum { STEP_COUNT = 250000, SEED = 1, REPEAT_COUNT = 5, ROW_COUNT_MAX = 64, NOTE_INDENT = 10 };
#define RUN_SECONDS 30.0

/* The targets that come with the program and are measured where none is named, in this process.
 * The null target has slots of one size, which must hold the largest request, and no memory that
 * could be full: it is measured on the emptier devices alone. */
static const struct own_target {
    const char *name, *slot;
    uint32_t full_percent_max;
} own_targets[VERSUS_SIDE_COUNT_MAX] = {{"null", "1048576", 70}, {"hbm", NULL, 99}};
static_assert(WORKLOAD_SIZE_BYTES_MAX == 1048576, "the slot of the null target");

enum what { WHAT_RAW, WHAT_CHECKED, WHAT_COUNT };
static const char *const what_names[] = {"raw", "checked"};

struct bench_row {
    uint32_t live_count, full_percent;
    const char *target;
    enum what what;
};

struct bench {
    struct versus *versus;
    struct measure_limits limits;
    struct bench_row rows[ROW_COUNT_MAX]; /* row_count of them */
    size_t row_count;
};

/* --- rows --- */

static const struct own_target *find_own(const char *name)
{
    for (size_t i = 0; i < VERSUS_SIDE_COUNT_MAX; i++) {
        if (strcmp(own_targets[i].name, name) == 0) {
            return &own_targets[i];
        }
    }
    return NULL;
}

static void append_rows(struct bench *bench, uint32_t live_count, uint32_t full_percent)
{
    for (size_t t = 0; t < bench->versus->side_count; t++) {
        const char *name = bench->versus->sides[t].name;
        const struct own_target *own = find_own(name);
        for (enum what what = 0; what < WHAT_COUNT; what++) {
            if (own == NULL || full_percent <= own->full_percent_max) {
                CHECK(bench->row_count < ROW_COUNT_MAX);
                bench->rows[bench->row_count++] = (struct bench_row){live_count, full_percent, name,
                                                                     what};
            }
        }
    }
}

static void choose_rows(struct bench *bench)
{
    static const uint32_t states[][2] = {{1000, 70}, {10000, 70}, {100000, 70}, {1000, 95},
                                         {1000, 99}, {10000, 95}, {10000, 99}};
    static const uint32_t lives[] = {1000, 10000, 100000}, fulls[] = {70, 95, 99};
    enum { STATE_COUNT = sizeof states / sizeof *states, VALUE_COUNT = 3 };
    const uint32_t live = (uint32_t)bench->versus->options->block_count;
    const uint32_t full = (uint32_t)bench->versus->options->full_percent;
    for (size_t i = 0; live == 0 && full == 0 && i < STATE_COUNT; i++) {
        append_rows(bench, states[i][0], states[i][1]);
    }
    for (size_t i = 0; (live != 0) != (full != 0) && i < VALUE_COUNT; i++) {
        append_rows(bench, live != 0 ? live : lives[i], full != 0 ? full : fulls[i]);
    }
    if (live != 0 && full != 0) {
        append_rows(bench, live, full);
    }
}

/* --- one row --- */

struct bench_answer {
    enum exit_code code;
    struct measurement measurement;
};

struct bench_task {
    const struct bench *bench;
    const struct bench_row *row;
};

static void make_bench_setup(const struct bench *bench, const struct bench_row *row,
                             const struct op_workload *workload, const struct target_limits *limits,
                             struct setup *setup)
{
    const struct run_options *options = bench->versus->options->run;
    const struct own_target *own = find_own(row->target);
    const bool has_slots = own != NULL && own->slot != NULL;
    setup_init(setup);
    (void)snprintf(setup->target, sizeof setup->target, "%s", row->target);
    setup->capacity_bytes = workload_capacity_bytes(
        has_slots ? row->live_count * WORKLOAD_SIZE_BYTES_MAX : workload->live_bytes,
        row->full_percent);
    if (has_slots) {
        CHECK(setup_set_option(setup, "slot", own->slot));
    }
    for (uint32_t i = 0; i < options->option_count; i++) {
        (void)setup_set_option(setup, options->options[i].key, options->options[i].value);
    }
    limits_keep_setup(limits, setup);
}

static void measure_row(const struct bench_task *task, struct bench_answer *answer)
{
    const struct versus_options *options = task->bench->versus->options;
    const uint32_t step_count = options->step_count != 0 ? (uint32_t)options->step_count
                                                         : STEP_COUNT;
    struct measured_target measured;
    struct op_workload workload;
    struct setup setup;
    *answer = (struct bench_answer){.code = lookup_target(task->row->target, &measured.target)};
    if (answer->code != EXIT_KEPT) {
        return;
    }
    workload_init(&workload, task->row->live_count, step_count, SEED);
    for (size_t i = 0; i < workload.ops.count; i++) {
        limits_keep_op(&measured.target->limits, &workload.ops.ops[i]);
    }
    make_bench_setup(task->bench, task->row, &workload, &measured.target->limits, &setup);
    measured.setup = &setup;
    (task->row->what == WHAT_RAW ? measure_raw : measure_checked)(
        &measured, &workload, &task->bench->limits, &answer->measurement);
    workload_deinit(&workload);
}

static void answer_row(void *context, int file)
{
    struct bench_answer answer;
    measure_row(context, &answer);
    (void)file_write_all(file, &answer, sizeof answer);
}

/* A target that is not our own may end its process. */
static enum exit_code ask_row(struct bench_task *task, struct measurement *measurement)
{
    struct bench_answer answer = {0};
    if (find_own(task->row->target) != NULL) {
        measure_row(task, &answer);
    } else {
        const struct target_reply reply = versus_ask(task->bench->versus, answer_row, task, &answer,
                                                     sizeof answer);
        answer.code = reply.code != EXIT_KEPT ? reply.code : answer.code;
        if (!reply.is_whole) {
            (void)snprintf(answer.measurement.note, MEASURE_NOTE_BYTES, "%s", reply.words);
        }
    }
    *measurement = answer.measurement;
    return answer.code;
}

/* --- how it is told --- */

static int find_name_width(const struct versus *versus)
{
    size_t width = strlen("target");
    for (size_t i = 0; i < versus->side_count; i++) {
        const size_t length = strlen(versus->sides[i].name);
        width = length > width ? length : width;
    }
    return (int)width;
}

static void tell_head(const struct bench *bench, struct facts *facts)
{
    char most[64] = "";
    if (isfinite(bench->limits.second_count_max)) {
        (void)snprintf(most, sizeof most, " of at most %.2g s", bench->limits.second_count_max);
    }
    facts_say(facts, "", 0,
              "ns of processor time per op (an alloc or a free): the median and the least of up to "
              "%d repeats%s",
              REPEAT_COUNT, most);
    facts_say(
        facts, "", 0,
        "a random block is freed and one of a new size is allocated, from 512B to 1.00M; seed "
        "%d",
        SEED);
    facts_line(facts, "raw: the calls alone.  checked: device, model and every rule.");
    facts_line(facts, "%s", "");
    facts_line(facts, "%8s %6s  %-*s  %-8s %10s %10s %9s", "live", "full",
               find_name_width(bench->versus), "target", "what", "median", "least", "refused");
}

static void tell_row(const struct bench *bench, const struct bench_row *row,
                     const struct measurement *result, struct facts *facts)
{
    char numbers[64];
    (void)snprintf(numbers, sizeof numbers, " %10s %10s %9s", "-", "-", "-");
    if (result->op_count != 0) {
        (void)snprintf(numbers, sizeof numbers, " %10.1f %10.1f %8.2f%%", result->ns_per_op,
                       result->ns_least,
                       200.0 * (double)result->refused_count / (double)result->op_count);
    }
    facts_line(facts, "%8u %5u%%  %-*s  %-8s%s", row->live_count, row->full_percent,
               find_name_width(bench->versus), row->target, what_names[row->what], numbers);
    if (result->note[0] != '\0') {
        facts_say(facts, "          ", NOTE_INDENT, "%s", result->note);
    }
    facts_open(facts, "bench");
    facts_count(facts, "live", row->live_count);
    facts_count(facts, "full_percent", row->full_percent);
    facts_text(facts, "target", row->target);
    facts_text(facts, "what", what_names[row->what]);
    facts_count(facts, "ops", result->op_count);
    facts_count(facts, "refused", result->refused_count);
    facts_count(facts, "picoseconds_per_op", (uint64_t)(result->ns_per_op * 1e3));
    facts_count(facts, "picoseconds_per_op_least", (uint64_t)(result->ns_least * 1e3));
    facts_text(facts, "note", result->note);
    facts_close(facts);
}

/* --- all --- */

/* Each row has the same share of the time; what does not fit into it is measured once.  A number of
 * steps that was asked for is measured whole. */
static struct measure_limits share_time(const struct versus_options *options, size_t row_count)
{
    const double seconds = options->run->duration_ns == 0 ? RUN_SECONDS
                                                          : (double)options->run->duration_ns / 1e9;
    const double row_seconds = seconds / (double)row_count;
    return (struct measure_limits){
        .repeat_count = REPEAT_COUNT,
        .second_count_max = options->step_count != 0 ? INFINITY : row_seconds / REPEAT_COUNT,
        .second_count_total = row_seconds,
        .is_stopped = interrupt_is_requested};
}

static enum exit_code measure_rows(const struct bench *bench, struct output *output,
                                   struct facts *facts)
{
    struct measurement result;
    for (size_t i = 0; i < bench->row_count && !output->is_failed && !output->is_pipe_closed; i++) {
        const enum exit_code code = ask_row(&(struct bench_task){bench, &bench->rows[i]}, &result);
        if (code != EXIT_KEPT || interrupt_is_requested()) {
            return code != EXIT_KEPT ? code : EXIT_HARNESS;
        }
        tell_row(bench, &bench->rows[i], &result, facts);
        output_facts(output, facts);
    }
    return output->is_failed ? EXIT_HARNESS : EXIT_KEPT;
}

enum exit_code versus_bench(struct versus *versus)
{
    struct bench bench = {.versus = versus};
    struct output output;
    struct facts facts = {0};
    for (size_t i = 0; versus->side_count == 0 && i < VERSUS_SIDE_COUNT_MAX; i++) {
        versus->sides[i].name = own_targets[i].name;
    }
    versus->side_count = versus->side_count == 0 ? VERSUS_SIDE_COUNT_MAX : versus->side_count;
    choose_rows(&bench);
    if (bench.row_count == 0) {
        return message_fail(EXIT_USAGE, "the null target has no memory that could be full: --full "
                                        "is at most 70");
    }
    bench.limits = share_time(versus->options, bench.row_count);
    output_init(&output, versus->options->run->is_json);
    tell_head(&bench, &facts);
    const enum exit_code code = measure_rows(&bench, &output, &facts);
    facts_deinit(&facts);
    return code;
}
