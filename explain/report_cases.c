/* What a report's numbers say, by the cases of https://openxla.org/xla/errors/error_1000; each is
 * there only where the numbers show it. */
#include "explain/private/files.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <string.h>

enum {
    PADDING_PERCENT_MIN = 10,      /* of the temporaries */
    DONATION_PERCENT_MIN = 5,      /* of the outputs, and of what is missing */
    FLAGS_MISSING_PERCENT_MAX = 25 /* of the temporaries: what recomputing can save */
};

struct innermost_text report_innermost(const struct compile_allocation *allocation)
{
    struct innermost_text words = {""};
    if (allocation->innermost_tiled > allocation->innermost) {
        snprintf(words.text, sizeof words.text,
                 ": its innermost dimension of %" PRIu64 " is padded to %" PRIu64,
                 allocation->innermost, allocation->innermost_tiled);
    } else if (allocation->innermost_tiled == 0 && allocation->innermost > 0 &&
               allocation->innermost < 128) { /* the report does not print the tiles */
        snprintf(words.text, sizeof words.text, ": its innermost dimension has %" PRIu64,
                 allocation->innermost);
    }
    return words;
}

const struct compile_size *report_temporaries(const struct compile_report *report)
{
    return &report->numbers[compile_report_has_assignment(report) ? COMPILE_GPU_TEMP
                                                                  : COMPILE_ROW_TEMP];
}

const struct compile_size *report_fragmentation(const struct compile_report *report)
{
    return &report->numbers[compile_report_has_assignment(report) ? COMPILE_GPU_FRAGMENTATION
                                                                  : COMPILE_FRAGMENTATION];
}

static uint64_t subtract(uint64_t from, uint64_t bytes)
{
    return from > bytes ? from - bytes : 0;
}

struct compile_size report_padding(const struct compile_report *report)
{
    const struct compile_size *padded = &report->numbers[COMPILE_PADDED];
    const struct compile_size *unpadded = &report->numbers[COMPILE_UNPADDED];
    struct compile_size padding = {0};
    if (padded->is_said && unpadded->is_said) {
        padding.is_said = true;
        padding.range = (struct size_range){
            subtract(padded->range.low, unpadded->range.high),
            subtract(padded->range.high, unpadded->range.low),
            subtract(padded->range.nominal, unpadded->range.nominal)};
        return padding;
    }
    const struct compile_size *temporaries = report_temporaries(report);
    if (!report->utilization.is_said || !temporaries->is_said ||
        report->utilization.hundredths > 10000) {
        return padding;
    }
    const struct size_range *lost = &report_fragmentation(report)->range;
    const uint64_t live = subtract(temporaries->range.nominal, lost->nominal);
    const uint64_t bytes = live / 10000 * (10000 - report->utilization.hundredths);
    const uint64_t step = live / 1000; /* a tenth of a percent is printed */
    return (struct compile_size){.is_said = true,
                                 .range = {subtract(bytes, step), bytes + step, bytes}};
}

bool report_would_fit_without(const struct compile_size *missing, const struct compile_size *lost)
{
    return lost->is_said && lost->range.low >= missing->range.high;
}

static struct size_text size_of(const struct compile_size *size)
{
    return size_text_of(size->range.nominal);
}

static struct writing *add_case(struct report_cases *cases, const char *name)
{
    CHECK(cases->count < REPORT_CASE_COUNT_MAX);
    struct report_case *item = &cases->items[cases->count++];
    *item = (struct report_case){.name = name};
    return &item->text;
}

/* --- the cases --- */

static void find_fragmentation(const struct compile_report *report, struct report_cases *cases)
{
    const struct compile_size *lost = report_fragmentation(report);
    const struct compile_size missing = compile_report_missing(report);
    if (missing.is_said && report_would_fit_without(&missing, lost)) {
        writing_append_format(
            add_case(cases, "fragmentation"),
            "It would fit without fragmentation: %s lie in gaps between temporaries, and only %s "
            "are missing. The gaps come from the order in which the compiler runs the ops. %s",
            size_of(lost).text, size_of(&missing).text,
            compile_report_has_assignment(report)
                ? "Another batch size or another split of the step changes it."
                : "Other orders: xla_latency_hiding_scheduler_rerun=1, or "
                  "xla_tpu_scheduler_percent_shared_memory_limit=90.");
    }
}

/* The arguments against the temporaries, or alone. */
static void find_balance(const struct compile_report *report, struct report_cases *cases)
{
    const bool is_gpu = compile_report_has_assignment(report);
    const struct compile_size
        *arguments = &report->numbers[is_gpu ? COMPILE_GPU_PARAMETERS : COMPILE_ARGUMENTS];
    const struct compile_size *temporaries = report_temporaries(report);
    const uint64_t capacity_bytes = compile_report_capacity(report);
    if (!arguments->is_said || arguments->range.nominal == 0) {
        return;
    }
    if (capacity_bytes != 0 && arguments->range.low > capacity_bytes) {
        writing_append_format(
            add_case(cases, "arguments"),
            "The arguments alone, %s, are more than the device has: no flag of the compiler helps. "
            "Shard the parameters and the optimizer state over more devices, or keep them in a "
            "smaller type.",
            size_of(arguments).text);
    } else if (temporaries->is_said) {
        writing_append_format(
            add_case(cases, "balance"), "Arguments take %s, temporaries %s: %s",
            size_of(arguments).text, size_of(temporaries).text,
            arguments->range.nominal > temporaries->range.nominal
                ? "the arguments are the larger part. Shard the parameters and the optimizer state "
                  "over more devices, or keep them in a smaller type."
                : "the temporaries are the larger part. Recompute activations (jax.checkpoint), or "
                  "run a smaller batch on each device and accumulate gradients.");
    }
}

static void find_donation(const struct compile_report *report, struct report_cases *cases)
{
    const struct compile_size *output = &report->numbers[COMPILE_OUTPUT];
    const struct compile_size *shared = &report->numbers[COMPILE_SHARED];
    const struct compile_size *arguments = &report->numbers[COMPILE_ARGUMENTS];
    if (!output->is_said || !shared->is_said || output->range.low <= shared->range.high) {
        return;
    }
    const uint64_t own = output->range.nominal - shared->range.nominal;
    const uint64_t undonated = subtract(arguments->range.nominal, shared->range.nominal);
    const uint64_t saved = arguments->is_said && undonated < own ? undonated : own;
    const uint64_t least = output->range.nominal / 100 * DONATION_PERCENT_MIN;
    const struct compile_size missing = compile_report_missing(report);
    if (saved > 0 && saved >= least &&
        saved >= missing.range.nominal / 100 * DONATION_PERCENT_MIN) {
        writing_append_format(
            add_case(cases, "donation"),
            "Outputs of %s share %s with the arguments. Arguments that are not needed afterwards "
            "and are donated (donate_argnums) would save up to %s more.",
            size_of(output).text, size_of(shared).text, size_text_of(saved).text);
    }
}

static void append_allocation(struct writing *text, const struct compile_allocation *allocation,
                              size_t number)
{
    writing_append_format(text, "allocation %zu", number);
    if (allocation->shape[0] != '\0') {
        writing_append_format(text, ", %s,", allocation->shape);
    }
}

/* True: one of them is. */
static bool find_one_above_half(const struct compile_report *report, struct report_cases *cases)
{
    const uint64_t capacity_bytes = compile_report_capacity(report);
    size_t largest = 0;
    if (report->allocation_count == 0 || capacity_bytes == 0) {
        return false;
    }
    for (size_t i = 1; i < report->allocation_count; i++) {
        if (report->allocations[i].size.nominal > report->allocations[largest].size.nominal) {
            largest = i;
        }
    }
    const struct compile_allocation *allocation = &report->allocations[largest];
    if (allocation->size.low <= capacity_bytes / 2) {
        return false;
    }
    struct writing *text = add_case(cases, "one_allocation");
    writing_append(text, "One allocation is larger than half of the device: ");
    append_allocation(text, allocation, largest + 1);
    writing_append_format(text,
                          " takes %s, and the device has %s. Look at the op and line that make it: "
                          "a tensor that should be sharded, a batch that should be split, or "
                          "padding.",
                          size_text_of(allocation->size.nominal).text,
                          size_text_of(capacity_bytes).text);
    return true;
}

/* The op that has most of the listed bytes in several allocations. */
static size_t find_largest_group(const struct compile_report *report, size_t *count,
                                 uint64_t *bytes)
{
    size_t found = 0;
    *bytes = 0;
    *count = 0;
    for (size_t i = 0; i < report->allocation_count; i++) {
        uint64_t sum = 0;
        size_t members = 0;
        const char *op = report->allocations[i].op;
        for (size_t j = 0; j < report->allocation_count && op[0] != '\0'; j++) {
            if (strcmp(op, report->allocations[j].op) == 0) {
                sum += report->allocations[j].size.nominal;
                members++;
            }
        }
        if (members > 1 && sum > *bytes) {
            *bytes = sum;
            *count = members;
            found = i;
        }
    }
    return found;
}

static void find_aggregate(const struct compile_report *report, struct report_cases *cases)
{
    uint64_t sum = 0, group_bytes = 0;
    size_t group_count = 0;
    for (size_t i = 0; i < report->allocation_count; i++) {
        sum += report->allocations[i].size.nominal;
    }
    const bool is_of_arguments = report_temporaries(report)->range.nominal <
                                 report->numbers[COMPILE_ARGUMENTS].range.nominal;
    if (report->allocation_count < 2 || compile_report_capacity(report) == 0 || is_of_arguments ||
        report->form == COMPILE_FORM_ASSIGNMENT) {
        return;
    }
    const size_t group = find_largest_group(report, &group_count, &group_bytes);
    struct writing *text = add_case(cases, "aggregate");
    writing_append_format(text,
                          "No single allocation is above half of the device: the %zu that are "
                          "listed add up to %s.",
                          report->allocation_count, size_text_of(sum).text);
    if (group_count > 1) {
        writing_append_format(text, " %zu of them, %s, are of one op: %s.", group_count,
                              size_text_of(group_bytes).text, report->allocations[group].op);
    }
}

/* The entry that pads most bytes; false: none does. */
static bool find_most_padded(const struct compile_report *report, size_t *index)
{
    uint64_t most = 0;
    for (size_t i = 0; i < report->allocation_count; i++) {
        const struct compile_size *padding = &report->allocations[i].padding;
        if (padding->is_said && padding->range.nominal > most) {
            most = padding->range.nominal;
            *index = i;
        }
    }
    return most > 0;
}

static void find_padding(const struct compile_report *report, struct report_cases *cases)
{
    const struct compile_size padding = report_padding(report);
    const struct compile_size *temporaries = report_temporaries(report);
    const struct compile_size missing = compile_report_missing(report);
    size_t index = 0;
    const bool has_entry = find_most_padded(report, &index);
    const uint64_t least = temporaries->range.nominal / 100 * PADDING_PERCENT_MIN;
    const uint64_t bytes = padding.is_said ? padding.range.nominal
                           : has_entry     ? report->allocations[index].padding.range.nominal
                                           : 0;
    if (bytes == 0 || bytes < least) {
        return;
    }
    struct writing *text = add_case(cases, "padding");
    writing_append_format(text,
                          "%s of the memory are padding: the last dimension of a layout is padded "
                          "to 128 elements, the one before it to 8.%s",
                          size_text_of(bytes).text,
                          padding.is_said && missing.is_said &&
                                  report_would_fit_without(&missing, &padding)
                              ? " Without it the program would fit."
                              : "");
    if (has_entry) {
        const struct compile_allocation *allocation = &report->allocations[index];
        writing_append(text, " Most of it is in ");
        append_allocation(text, allocation, index + 1);
        writing_append_format(text, " with %s%s.", size_of(&allocation->padding).text,
                              report_innermost(allocation).text);
    }
    writing_append(text, " Transpose or reshape, so that no small dimension is the last one, or "
                         "join it with its neighbour.");
}

static void find_cores(const struct compile_report *report, struct report_cases *cases)
{
    if (report->form != COMPILE_FORM_CORES) {
        return;
    }
    const uint64_t tensor = report->numbers[COMPILE_USED].range.nominal;
    const uint64_t sparse = report->numbers[COMPILE_SPARSE_CORE].range.nominal;
    writing_append(add_case(cases, "cores"),
                   sparse > tensor
                       ? "The SparseCore's part is the larger one: its tables, of which each "
                         "row is padded to 32 bytes, must be sharded or shrunk."
                       : "The TensorCore's part is the larger one: the SparseCore's tables are "
                         "not what to shrink first.");
}

/* What the compiler can be asked to do where little is missing. */
static void find_flags(const struct compile_report *report, struct report_cases *cases)
{
    const struct compile_size *temporaries = report_temporaries(report);
    const struct compile_size missing = compile_report_missing(report);
    if (report->form == COMPILE_FORM_EARLY) {
        writing_append(add_case(cases, "flags"),
                       "The compiler stopped before it had a list of allocations: "
                       "--xla_tpu_impure_oom_fast_exit_threshold=-1 makes it go on and print one.");
        return;
    }
    const uint64_t most = temporaries->range.nominal / 100 * FLAGS_MISSING_PERCENT_MAX;
    if (compile_report_has_assignment(report) || !temporaries->is_said || !missing.is_said ||
        missing.range.nominal > most) {
        return;
    }
    writing_append_format(
        add_case(cases, "flags"),
        "%s are missing, and the temporaries have %s: the compiler may save as much by computing "
        "values again. In LIBTPU_INIT_ARGS: --xla_tpu_rematerialization_algo=PEAK_PRIORITY, "
        "--xla_tpu_rematerialization_max_block_size_limit=32, "
        "--xla_tpu_rematerialization_block_effort_factor=10.0, --xla_tpu_pre_fusion_remat=true. "
        "The results stay the same; the step takes longer. Flags that schedule for less memory "
        "come last: --xla_latency_hiding_scheduler_rerun=5, --xla_memory_scheduler=kBrkga "
        "(https://openxla.org/xla/flags_guidance).",
        size_of(&missing).text, size_of(temporaries).text);
}

void report_cases_find(const struct compile_report *report, struct report_cases *cases)
{
    cases->count = 0;
    find_fragmentation(report, cases);
    find_padding(report, cases);
    if (!find_one_above_half(report, cases)) {
        find_aggregate(report, cases);
    }
    find_balance(report, cases);
    find_donation(report, cases);
    find_cores(report, cases);
    find_flags(report, cases);
}

void report_cases_deinit(struct report_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        writing_deinit(&cases->items[i].text);
    }
}
