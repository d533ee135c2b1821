/* bench: what an op costs on this machine, with the targets that come with the program. */
#include "campaign/engine/output.h"
#include "cli/subcommands.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "measure/per_op.h"
#include "targets/targets.h"

#include <string.h>

enum { STEP_COUNT = 250000, SEED = 1, REPEAT_COUNT = 5 };
#define REPEAT_SECONDS 0.25

/* The null target has slots of one size, which must hold the largest request. */
static const struct target_option null_slot = {"slot", "1048576"};
static_assert(WORKLOAD_SIZE_BYTES_MAX == 1048576, "the slot of the null target");

enum what { WHAT_RAW, WHAT_CHECKED };
static const char *const what_names[] = {"raw", "checked"};

struct bench_row {
    uint32_t live_count, full_percent;
    const char *target;
    enum what what;
};
#define EACH(live, full)                \
    {live, full, "hbm", WHAT_RAW},      \
    {                                   \
        live, full, "hbm", WHAT_CHECKED \
    }
static const struct bench_row rows[] = {{1000, 70, "null", WHAT_RAW},
                                        {1000, 70, "null", WHAT_CHECKED},
                                        EACH(1000, 70),
                                        {10000, 70, "null", WHAT_RAW},
                                        {10000, 70, "null", WHAT_CHECKED},
                                        EACH(10000, 70),
                                        {100000, 70, "null", WHAT_RAW},
                                        {100000, 70, "null", WHAT_CHECKED},
                                        EACH(100000, 70),
                                        EACH(1000, 95),
                                        EACH(1000, 99),
                                        EACH(10000, 95),
                                        EACH(10000, 99)};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* --- one row --- */

static uint64_t find_capacity(const struct bench_row *row, const struct workload *workload)
{
    const bool has_slots = strcmp(row->target, "null") == 0;
    return workload_capacity_bytes(has_slots ? row->live_count * WORKLOAD_SIZE_BYTES_MAX
                                             : workload->live_bytes,
                                   row->full_percent);
}

static void measure_row(const struct bench_row *row, struct measurement *result)
{
    static const struct measure_limits limits = {REPEAT_COUNT, REPEAT_SECONDS};
    struct workload workload;
    workload_init(&workload, row->live_count, STEP_COUNT, SEED);
    struct measured_target measured = {.target = target_find(row->target),
                                       .capacity_bytes = find_capacity(row, &workload)};
    CHECK(measured.target != NULL);
    if (strcmp(row->target, "null") == 0) {
        measured.option = null_slot;
    }
    if (row->what == WHAT_RAW) {
        measure_raw(&measured, &workload, &limits, result);
    } else {
        measure_checked(&measured, &workload, &limits, result);
    }
    workload_deinit(&workload);
}

/* --- how it is told --- */

static void tell_head(struct writing *text)
{
    writing_append_format(
        text,
        "ns per op (an alloc or a free): the median and the least of %d repeats of at most %g s\n"
        "a random block is freed and one of a new size is allocated, from 512B to 1.00M; seed %d\n"
        "raw: the calls alone.  checked: device, model and every rule.\n\n"
        "%8s %6s  %-6s  %-8s %10s %10s %9s\n",
        REPEAT_COUNT, REPEAT_SECONDS, SEED, "live", "full", "target", "what", "median", "least",
        "refused");
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

static enum exit_code bench_subcommand(const struct arguments *arguments)
{
    struct output output;
    struct writing text;
    output_init(&output, arguments->run.is_json);
    writing_init(&text);
    tell_head(&text);
    output_text(&output, &text);
    output_flush(&output);
    for (size_t i = 0; i < ROW_COUNT && !output.is_failed && !output.is_pipe_closed; i++) {
        struct measurement result;
        measure_row(&rows[i], &result);
        writing_clear(&text);
        if (output.is_json) {
            tell_json(&rows[i], &result, &text);
            output_line_to_standard(&output, &text);
        } else {
            tell_row(&rows[i], &result, &text);
            output_text(&output, &text);
        }
        output_flush(&output);
    }
    writing_deinit(&text);
    return output.is_failed ? EXIT_HARNESS : EXIT_KEPT;
}

static const char *const options[] = {"--json", NULL};

const struct subcommand subcommand_bench = {
    .name = "bench",
    .summary = "print what an op costs on this machine",
    .usage = "[options]",
    .description =
        "Measures the null target, which does nothing, and libhbm, each alone and under all checks, on\n"
        "devices 70, 95 and 99 % full of 1,000 to 100,000 blocks.  The null target under all checks is what\n"
        "hbmstress itself costs.  Takes less than a minute; nothing else should run meanwhile.\n\n"
        "Example: hbmstress bench\n"
        "Example: hbmstress bench --json >before.jsonl",
    .options = options,
    .word_count_max = 0,
    .run = bench_subcommand,
};
