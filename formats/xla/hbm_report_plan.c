#include "formats/xla/private/hbm_report.h"

#include "formats/common/import.h"
#include "harness/base/align.h"
#include "harness/base/check.h"

/* Returns the bounds of a size: any size if nothing is said. */
static struct size_range get_bounds(const struct compile_size *size)
{
    return size->is_said ? size->range : (struct size_range){.high = IMPORT_CAPACITY_MAX};
}

/* The multiple of the granule in the bounds that is nearest to wish; false: there is none. */
static bool find_nearest(uint64_t wish, struct size_range bounds, uint64_t granule_bytes,
                         uint64_t *bytes)
{
    bounds.nominal = wish;
    const bool is_there = printed_size_align(&bounds, granule_bytes);
    *bytes = is_there ? bounds.nominal : *bytes;
    return is_there;
}

/* 0 where nothing is said; printed sizes are at most 2^63, and are held to IMPORT_CAPACITY_MAX
 * before any sum. */
static uint64_t get_nominal(const struct hbm_report *report, enum compile_number number)
{
    return report->numbers[number].range.nominal;
}

/* --- capacity and use --- */

/* "Used" of that capacity: what the report exceeds it by narrows it down.  False: no such byte
 * count. */
static bool choose_used(const struct hbm_report *report, struct hbm_report_plan *plan)
{
    const struct compile_size *exceeded = &report->numbers[COMPILE_EXCEEDED];
    struct size_range bounds = get_bounds(&report->numbers[COMPILE_USED]);
    if (exceeded->is_said) {
        const uint64_t low = plan->capacity_bytes + exceeded->range.low;
        const uint64_t high = plan->capacity_bytes + exceeded->range.high;
        bounds.low = low > bounds.low ? low : bounds.low;
        bounds.high = high < bounds.high ? high : bounds.high;
    }
    if (bounds.low <= plan->capacity_bytes) {
        bounds.low = plan->capacity_bytes + 1;
    }
    return find_nearest(get_nominal(report, COMPILE_USED), bounds, plan->granule_bytes,
                        &plan->used_bytes);
}

/* A chip that prints so, else what the text says, else the ends of what prints so. */
static bool choose_said_capacity(const struct hbm_report *report, struct hbm_report_plan *plan)
{
    const struct size_range *range = &report->numbers[COMPILE_CAPACITY].range;
    const uint64_t wishes[] = {range->nominal, range->low, range->high};
    for (size_t i = 0; chips[i] != NULL && chips[i]->kind == CHIP_TPU; i++) {
        plan->capacity_bytes = align_down(chips[i]->capacity_bytes, plan->granule_bytes);
        plan->chip = chips[i]->name;
        if (plan->capacity_bytes >= range->low && plan->capacity_bytes <= range->high &&
            choose_used(report, plan)) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        plan->chip = NULL;
        if (find_nearest(wishes[i], *range, plan->granule_bytes, &plan->capacity_bytes) &&
            plan->capacity_bytes > 0 && choose_used(report, plan)) {
            return true;
        }
    }
    return false;
}

/* "Used S of S hbm. Exceeded hbm capacity by S": whether the three can be true together. */
static bool is_exceeded_consistent(const struct hbm_report *report)
{
    const struct compile_size *exceeded = &report->numbers[COMPILE_EXCEEDED];
    const struct size_range used = get_bounds(&report->numbers[COMPILE_USED]);
    const struct size_range capacity = get_bounds(&report->numbers[COMPILE_CAPACITY]);
    return !exceeded->is_said ||
           (used.high >= capacity.low && used.high - capacity.low >= exceeded->range.low &&
            used.low <= capacity.high + exceeded->range.high);
}

static const char *choose_capacity(const struct hbm_report *report, const struct setup *fixed,
                                   struct hbm_report_plan *plan, size_t *at)
{
    const struct size_range used = get_bounds(&report->numbers[COMPILE_USED]);
    *at = report->numbers[COMPILE_USED].at;
    if (!is_exceeded_consistent(report)) {
        *at = report->numbers[COMPILE_EXCEEDED].at;
        return "the used bytes minus the capacity are not the exceeding bytes";
    }
    plan->capacity_bytes = import_fixed_capacity(fixed, plan->granule_bytes);
    if (plan->capacity_bytes != 0) {
        if (plan->capacity_bytes % plan->granule_bytes != 0) {
            return "the capacity is not a multiple of the granule";
        }
        return find_nearest(get_nominal(report, COMPILE_USED), used, plan->granule_bytes,
                            &plan->used_bytes)
                   ? NULL
                   : "no multiple of the granule prints as the used bytes";
    }
    if (used.high <= report->numbers[COMPILE_CAPACITY].range.low) {
        return "the used bytes are not above the capacity";
    }
    return choose_said_capacity(report, plan)
               ? NULL
               : "no multiples of the granule print as the used bytes and the capacity";
}

/* --- parts --- */

/* True if "Used" has what is reserved in it: until 2020 it had, and the capacity was all of the
 * chip's memory. */
static bool is_reserved_counted(const struct hbm_report *report, struct hbm_report_plan *plan)
{
    const struct compile_size *total = &report->numbers[COMPILE_TOTAL];
    const struct compile_size *used = &report->numbers[COMPILE_USED];
    const struct compile_size *reserved = &report->numbers[COMPILE_RESERVED];
    if (!total->is_said || !used->is_said || !reserved->is_said) {
        return false;
    }
    if (total->range.low == used->range.low && total->range.high == used->range.high) {
        return true;
    }
    plan->has_other_total = total->range.high < used->range.low + reserved->range.low ||
                            total->range.low > used->range.high + reserved->range.high;
    return false;
}

/* Returns what the program takes: from the section on the total, else from that on the program. */
static const struct compile_size *get_program(const struct hbm_report *report)
{
    if (report->form == COMPILE_FORM_CORES) {
        return &report->numbers[COMPILE_SPARSE_CORE];
    }
    const struct compile_size *program = &report->numbers[COMPILE_PROGRAM];
    return program->is_said ? program : &report->numbers[COMPILE_REQUIREMENT];
}

/* bytes - a - b, or 0. */
static uint64_t subtract_both(uint64_t bytes, uint64_t a, uint64_t b)
{
    return bytes > a && bytes - a > b ? bytes - a - b : 0;
}

/* Reserved, arguments, program: the multiples of the granule nearest to what is said that sum up to
 * what is used, if any do; else the nearest, and what is left over is something else. */
static const char *choose_parts(const struct hbm_report *report, struct hbm_report_plan *plan,
                                uint64_t *program_bytes)
{
    const uint64_t granule_bytes = plan->granule_bytes;
    const struct size_range program = get_bounds(get_program(report));
    const struct size_range none = {0};
    const struct size_range arguments = report->numbers[COMPILE_ARGUMENTS].is_said
                                            ? report->numbers[COMPILE_ARGUMENTS].range
                                            : none;
    const struct size_range reserved = is_reserved_counted(report, plan)
                                           ? get_bounds(&report->numbers[COMPILE_RESERVED])
                                           : none;
    const uint64_t used_bytes = plan->used_bytes;
    if (!find_nearest(reserved.high == 0 ? 0 : get_nominal(report, COMPILE_RESERVED), reserved,
                      granule_bytes, &plan->reserved_bytes) ||
        !find_nearest(get_nominal(report, COMPILE_ARGUMENTS), arguments, granule_bytes,
                      &plan->argument_bytes) ||
        !find_nearest(subtract_both(used_bytes, plan->reserved_bytes, plan->argument_bytes),
                      program, granule_bytes, program_bytes) ||
        !find_nearest(subtract_both(used_bytes, plan->reserved_bytes, *program_bytes), arguments,
                      granule_bytes, &plan->argument_bytes) ||
        !find_nearest(subtract_both(used_bytes, plan->argument_bytes, *program_bytes), reserved,
                      granule_bytes, &plan->reserved_bytes)) {
        return "no multiples of the granule print as the parts of the used bytes";
    }
    const uint64_t sum_bytes = plan->reserved_bytes + plan->argument_bytes + *program_bytes;
    if (sum_bytes > used_bytes) {
        return "the parts sum to more than the used bytes";
    }
    plan->other_bytes = used_bytes - sum_bytes;
    return NULL;
}

/* Temporaries, scoped and global memory are the stack; the rest, such as overlays, is the image, at
 * least one granule.
 */
static void choose_stack(const struct hbm_report *report, uint64_t program_bytes,
                         struct hbm_report_plan *plan)
{
    static const enum compile_number rows[] = {COMPILE_ROW_TEMP, COMPILE_ROW_GLOBAL,
                                               COMPILE_ROW_SCOPED};
    struct size_range stack = {0};
    if (program_bytes == 0) {
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct size_range *range = &report->numbers[rows[i]].range;
        stack.low += range->low;
        stack.high += range->high;
        stack.nominal += range->nominal;
    }
    const uint64_t most_bytes = program_bytes - plan->granule_bytes;
    plan->stack_bytes = most_bytes;
    if (report->numbers[COMPILE_ROW_TEMP].is_said && most_bytes > stack.high) {
        plan->stack_bytes = align_down(stack.nominal, plan->granule_bytes);
    }
    plan->rows_disagree = report->numbers[COMPILE_ROW_TEMP].is_said && stack.low > program_bytes;
    plan->image_bytes = program_bytes - plan->stack_bytes;
    plan->image_is_assumed = plan->image_bytes == plan->granule_bytes;
}

/* The whole report in one unit: where it does not say "Used", that is the program and the
 * arguments. */
static void complete_report(struct hbm_report *report)
{
    struct compile_size *used = &report->numbers[COMPILE_USED];
    const struct compile_size *program = get_program(report);
    if (report->form == COMPILE_FORM_CORES) {
        report->numbers[COMPILE_ARGUMENTS] = *used; /* the TensorCore's */
    } else if (used->is_said) {
        return;
    }
    const struct compile_size *arguments = &report->numbers[COMPILE_ARGUMENTS];
    *used = (struct compile_size){
        .is_said = true,
        .at = program->at,
        .range = {.low = program->range.low + arguments->range.low,
                  .high = program->range.high + arguments->range.high,
                  .nominal = program->range.nominal + arguments->range.nominal}};
}

static const char *choose_numbers(const struct hbm_report *report, const struct setup *fixed,
                                  struct hbm_report_plan *plan, size_t *at)
{
    uint64_t program_bytes = 0;
    const char *reason = choose_capacity(report, fixed, plan, at);
    if (reason == NULL) {
        reason = choose_parts(report, plan, &program_bytes);
    }
    if (reason == NULL) {
        choose_stack(report, program_bytes, plan);
        CHECK(plan->reserved_bytes + plan->argument_bytes + plan->other_bytes + plan->image_bytes +
                  plan->stack_bytes ==
              plan->used_bytes);
    }
    return reason;
}

const char *hbm_report_choose(const struct hbm_report *said, const struct setup *fixed,
                              struct hbm_report_plan *plan, size_t *at)
{
    const uint64_t first = fixed->granule_bytes != 0 ? fixed->granule_bytes : IMPORT_GRANULE_BYTES;
    const uint64_t last = fixed->granule_bytes != 0 ? fixed->granule_bytes : 1;
    const char *first_reason = NULL;
    struct hbm_report report = *said;
    for (int i = 0; i < COMPILE_NUMBER_COUNT; i++) {
        if (said->numbers[i].range.high > IMPORT_CAPACITY_MAX) {
            *at = said->numbers[i].at;
            return "a size is above 1P";
        }
    }
    complete_report(&report);
    for (uint64_t granule_bytes = first; granule_bytes >= last; granule_bytes /= 2) {
        size_t where = said->begin;
        *plan = (struct hbm_report_plan){.granule_bytes = granule_bytes};
        const char *reason = choose_numbers(&report, fixed, plan, &where);
        if (reason == NULL) {
            if (fixed->chip[0] != '\0') { /* whose capacity is without what it keeps to itself */
                plan->used_bytes -= plan->reserved_bytes;
                plan->reserved_bytes = 0;
            }
            return NULL;
        }
        *at = first_reason == NULL ? where : *at;
        first_reason = first_reason == NULL ? reason : first_reason;
    }
    return first_reason;
}

bool hbm_report_fits(const struct hbm_report *report, const struct setup *fixed)
{
    struct hbm_report_plan plan;
    size_t at = 0;
    return hbm_report_choose(report, fixed, &plan, &at) == NULL &&
           plan.used_bytes <= plan.capacity_bytes;
}
