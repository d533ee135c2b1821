/* bench: what an op costs on this machine, with the targets that come with the program. */
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "cli/subcommands.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "measure/per_op.h"
#include "targets/targets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEP_COUNT = 250000, SEED = 1, REPEAT_COUNT = 5 };
#define RUN_SECONDS 30.0

/* The null target has slots of one size, which must hold the largest request. */
static const struct target_option null_slot = {"slot", "1048576"};
static_assert(WORKLOAD_SIZE_BYTES_MAX == 1048576, "the slot of the null target");

enum what { WHAT_RAW, WHAT_CHECKED, WHAT_COUNT };
static const char *const what_names[] = {"raw", "checked"};

struct bench_row {
    uint32_t live_count, full_percent;
    const char *target;
    enum what what;
};

/* The null target has no memory that could be full: it is measured on the emptier devices alone. */
enum { FULL_PERCENT_NULL_MAX = 70, ROW_COUNT_MAX = 32 };
struct state {
    uint32_t live_count, full_percent;
};
static const struct state states[] = {{1000, 70}, {10000, 70}, {100000, 70}, {1000, 95},
                                      {1000, 99}, {10000, 95}, {10000, 99}};
static const uint32_t live_counts[] = {1000, 10000, 100000}, full_percents[] = {70, 95, 99};

static size_t append_rows(struct bench_row rows[ROW_COUNT_MAX], size_t count, struct state state)
{
    static const char *const names[] = {"null", "hbm"};
    for (size_t t = state.full_percent <= FULL_PERCENT_NULL_MAX ? 0 : 1; t < 2; t++) {
        for (enum what what = 0; what < WHAT_COUNT; what++) {
            CHECK(count < ROW_COUNT_MAX);
            rows[count++] = (struct bench_row){state.live_count, state.full_percent, names[t],
                                               what};
        }
    }
    return count;
}

static size_t append_states(struct bench_row rows[ROW_COUNT_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        count = append_rows(rows, count, states[i]);
    }
    return count;
}

/* 0: not given. */
static size_t choose_rows(uint32_t live_count, uint32_t full_percent,
                          struct bench_row rows[ROW_COUNT_MAX])
{
    if (live_count == 0 && full_percent == 0) {
        return append_states(rows);
    }
    const size_t lives = live_count != 0 ? 1 : sizeof live_counts / sizeof *live_counts;
    const size_t fulls = full_percent != 0 ? 1 : sizeof full_percents / sizeof *full_percents;
    size_t count = 0;
    for (size_t l = 0; l < lives; l++) {
        for (size_t f = 0; f < fulls; f++) {
            count = append_rows(
                rows, count,
                (struct state){live_count != 0 ? live_count : live_counts[l],
                               full_percent != 0 ? full_percent : full_percents[f]});
        }
    }
    return count;
}

/* --- one row --- */

static uint64_t find_capacity(const struct bench_row *row, const struct workload *workload)
{
    const bool has_slots = strcmp(row->target, "null") == 0;
    return workload_capacity_bytes(has_slots ? row->live_count * WORKLOAD_SIZE_BYTES_MAX
                                             : workload->live_bytes,
                                   row->full_percent);
}

static void measure_row(const struct bench_row *row, uint32_t step_count,
                        const struct measure_limits *limits, struct measurement *result)
{
    struct workload workload;
    workload_init(&workload, row->live_count, step_count, SEED);
    struct measured_target measured = {.target = target_find(row->target),
                                       .capacity_bytes = find_capacity(row, &workload)};
    CHECK(measured.target != NULL);
    if (strcmp(row->target, "null") == 0) {
        measured.option = null_slot;
    }
    if (row->what == WHAT_RAW) {
        measure_raw(&measured, &workload, limits, result);
    } else {
        measure_checked(&measured, &workload, limits, result);
    }
    workload_deinit(&workload);
}

/* --- how it is told --- */

static void tell_head(const struct measure_limits *limits, struct writing *text)
{
    char most[64] = "";
    if (isfinite(limits->second_count_max)) {
        (void)snprintf(most, sizeof most, " of at most %.2g s", limits->second_count_max);
    }
    writing_append_format(
        text,
        "ns of processor time per op (an alloc or a free): the median and the least of up to %d repeats%s\n"
        "a random block is freed and one of a new size is allocated, from 512B to 1.00M; seed %d\n"
        "raw: the calls alone.  checked: device, model and every rule.\n\n"
        "%8s %6s  %-6s  %-8s %10s %10s %9s\n",
        REPEAT_COUNT, most, SEED, "live", "full", "target", "what", "median", "least", "refused");
}

static void tell_row(const struct bench_row *row, const struct measurement *result,
                     struct writing *text)
{
    writing_append_format(text, "%8u %5u%%  %-6s  %-8s", row->live_count, row->full_percent,
                          row->target, what_names[row->what]);
    if (result->op_count == 0) {
        writing_append_format(text, " %10s %10s %9s  %s\n", "-", "-", "-", result->note);
        return;
    }
    writing_append_format(text, " %10.1f %10.1f %8.2f%%%s%s\n", result->ns_per_op, result->ns_least,
                          200.0 * (double)result->refused_count / (double)result->op_count,
                          result->note[0] == '\0' ? "" : "  ", result->note);
}

static void tell_json(const struct bench_row *row, const struct measurement *result,
                      struct writing *text)
{
    json_open(text, "bench");
    json_add_number(text, "live", row->live_count);
    json_add_number(text, "full_percent", row->full_percent);
    json_add_string(text, "target", row->target);
    json_add_string(text, "what", what_names[row->what]);
    json_add_number(text, "ops", result->op_count);
    json_add_number(text, "refused", result->refused_count);
    json_add_number(text, "picoseconds_per_op", (uint64_t)(result->ns_per_op * 1e3));
    json_add_number(text, "picoseconds_per_op_least", (uint64_t)(result->ns_least * 1e3));
    json_add_string(text, "note", result->note);
    json_close(text);
}

/* Each row has the same share of the time; what does not fit into it is measured once.  A number of
 * steps that was asked for is measured whole. */
static struct measure_limits share_time(const struct arguments *arguments, size_t row_count)
{
    const double seconds = arguments->run.duration_ns == 0
                               ? RUN_SECONDS
                               : (double)arguments->run.duration_ns / 1e9;
    const double row_seconds = seconds / (double)row_count;
    return (struct measure_limits){
        .repeat_count = REPEAT_COUNT,
        .second_count_max = arguments->step_count != 0 ? INFINITY : row_seconds / REPEAT_COUNT,
        .second_count_total = row_seconds,
        .is_stopped = interrupt_is_requested};
}

static void put_row(struct output *output, const struct bench_row *row,
                    const struct measurement *result)
{
    struct writing text;
    writing_init(&text);
    if (output->is_json) {
        tell_json(row, result, &text);
        output_line_to_standard(output, &text);
    } else {
        tell_row(row, result, &text);
        output_text(output, &text);
    }
    output_flush(output);
    writing_deinit(&text);
}

static enum exit_code bench_subcommand(const struct arguments *arguments)
{
    struct bench_row rows[ROW_COUNT_MAX];
    const size_t row_count = choose_rows((uint32_t)arguments->block_count,
                                         (uint32_t)arguments->full_percent, rows);
    const uint32_t step_count = arguments->step_count != 0 ? (uint32_t)arguments->step_count
                                                           : STEP_COUNT;
    const struct measure_limits limits = share_time(arguments, row_count);
    struct output output;
    struct writing text;
    output_init(&output, arguments->run.is_json);
    writing_init(&text);
    tell_head(&limits, &text);
    output_text(&output, &text);
    output_flush(&output);
    writing_deinit(&text);
    bool is_cut = false;
    for (size_t i = 0; i < row_count && !is_cut && !output.is_failed && !output.is_pipe_closed;
         i++) {
        struct measurement result;
        measure_row(&rows[i], step_count, &limits, &result);
        is_cut = interrupt_is_requested();
        if (!is_cut) {
            put_row(&output, &rows[i], &result);
        }
    }
    return output.is_failed || is_cut ? EXIT_HARNESS : EXIT_KEPT;
}

static const char *const options[] = {"--blocks", "--full", "--steps", "--time", "--json", NULL};

static const char *const examples[] = {
    "hbmstress bench",
    "hbmstress bench --blocks 1000 --time 2s",
    "hbmstress bench --blocks 10000 --full 99 --steps 5000",
    "hbmstress bench --json >before.jsonl",
    NULL,
};

const struct subcommand subcommand_bench = {
    .name = "bench",
    .summary = "print what an op costs on this machine",
    .usage = "[options]",
    .description =
        "Measures the null target, which does nothing, and libhbm, each alone and under all checks, on\n"
        "devices 70, 95 and 99 % full of 1,000 to 100,000 blocks.  The null target under all checks is what\n"
        "hbmstress itself costs.  Takes half a minute (--time), and more on a busy machine, where the figures\n"
        "are larger.",
    .exits = exit_meanings_of_work,
    .examples = examples,
    .options = options,
    .word_count_max = 0,
    .run = bench_subcommand,
};
