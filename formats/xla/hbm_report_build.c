/* From a report to the shortest ops that end as it says.
 *
 *     top   [ reserved, held ][ arguments ][ parts of the program ... ]  free  [ the rest of the
 * program: must fail ] 0
 *
 * Allocations that the report lists become blocks of their own, so that their names and their
 * padding are there to be looked at, as long as they find a place; what is left of the program is
 * loaded, and does not fit by exactly what the report says. */
#include "formats/xla/private/hbm_report.h"

#include "formats/common/import.h"
#include "formats/common/tags.h"
#include "harness/base/align.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TAG_NONE = 0, TAG_COUNT_MAX = 200 };

struct report_building {
    const struct hbm_report *report;
    struct hbm_report_plan plan;
    struct import *import;
    uint64_t taken_bytes; /* by the blocks so far */
    size_t part_count;    /* entries that are blocks of their own */
    uint8_t tag_count;
    bool is_over;      /* the request that must fail is there */
    bool is_of_peak;   /* the listed temporaries can be there all at once */
    char refusal[128]; /* a reason with numbers in it */
};

/* --- what is missing --- */

static const char *find_missing_gpu(const struct hbm_report *report, bool capacity_is_fixed)
{
    if (!report->numbers[COMPILE_GPU_REQUEST].is_said &&
        !report->numbers[COMPILE_GPU_TEMP].is_said) {
        return "the statistics are cut off: they lack the preallocated temp allocation";
    }
    if (!report->numbers[COMPILE_GPU_TOTAL].is_said) {
        return "the statistics are cut off: they lack the total allocation";
    }
    return capacity_is_fixed
               ? NULL
               : "the statistics do not give the size of the device's memory: give --capacity";
}

static const char *find_missing_space(const char *space)
{
    return strcmp(space, "hbm") == 0 ? NULL
           : space[0] == '\0'        ? "the report is cut off: it does not name the memory space"
           : strcmp(space, "vmem") == 0
               ? "the report is on memory space vmem, a core's scratchpad, which no device-memory allocator manages"
           : strcmp(space, "smem") == 0
               ? "the report is on memory space smem, a core's scratchpad, which no device-memory allocator manages"
               : "the report is on a memory space other than hbm, which no device-memory allocator manages";
}

const char *hbm_report_missing(const struct hbm_report *report, bool capacity_is_fixed)
{
    const struct compile_size *numbers = report->numbers;
    if (report->form == COMPILE_FORM_ENTRIES) {
        return "only a list of allocations is left: the report's beginning, with the used bytes and the capacity, is cut off";
    }
    if (report->form == COMPILE_FORM_ESTIMATE) {
        return "the text has an estimate of the compiler and no failure: nothing to replay";
    }
    if (report->form == COMPILE_FORM_GPU) {
        return find_missing_gpu(report, capacity_is_fixed);
    }
    if (report->form != COMPILE_FORM_SECTIONS || numbers[COMPILE_USED].is_said ||
        report->space[0] != '\0') {
        const char *reason = find_missing_space(report->space);
        if (reason != NULL) {
            return reason;
        }
    }
    const bool has_program = numbers[COMPILE_PROGRAM].is_said ||
                             numbers[COMPILE_REQUIREMENT].is_said;
    if (report->form == COMPILE_FORM_CORES && !numbers[COMPILE_SPARSE_CORE].is_said) {
        return "the report is cut off: it lacks the bytes that the SparseCore uses";
    }
    if (!numbers[COMPILE_USED].is_said && !(capacity_is_fixed && has_program)) {
        return has_program
                   ? "the report's beginning is cut off: it lacks the capacity (\"Used ... of ... hbm\"); give --chip or --capacity"
                   : "the report is cut off: it lacks the used bytes";
    }
    return numbers[COMPILE_CAPACITY].is_said || capacity_is_fixed
               ? NULL
               : "the report is cut off: it lacks the capacity";
}

/* --- ops --- */

/* The tag of that name, a new one if need be. */
static uint8_t make_tag(struct report_building *building, const char *name)
{
    struct setup *setup = &building->import->setup;
    char text[SETUP_NAME_BYTES];
    if (name[0] == '\0' || building->tag_count == TAG_COUNT_MAX) {
        return TAG_NONE;
    }
    tag_print(name, strlen(name), text);
    const uint8_t known = tag_find(setup, 1, building->tag_count, text);
    if (known == 0) {
        setup_set_tag(setup, ++building->tag_count, text);
    }
    return known == 0 ? building->tag_count : known;
}

static bool can_fit(const struct report_building *building, uint64_t size_bytes)
{
    return size_bytes <= building->plan.capacity_bytes - building->taken_bytes;
}

/* A block; one that finds no place is the request that the report is about. */
static uint32_t append_block(struct report_building *building, uint64_t size_bytes,
                             uint64_t unpadded_bytes, const char *name)
{
    const struct op op = OP_TO_MAKE(
        OP_ALLOC, .size_bytes = size_bytes, .tag = make_tag(building, name),
        .unpadded_bytes = unpadded_bytes < size_bytes ? unpadded_bytes : 0);
    const uint32_t index = import_append(building->import, &op);
    if (can_fit(building, size_bytes)) {
        building->taken_bytes += size_bytes;
    } else {
        building->is_over = true;
        import_say(building->import, index, SAID_FAILED, 0);
    }
    return index;
}

/* --- entries --- */

/* Returns the entry's size without padding: that of the shape, if known, to the byte. */
static uint64_t choose_entry_unpadded(const struct listed_allocation *entry)
{
    return entry->shape_bytes != 0 ? entry->shape_bytes : entry->unpadded.range.nominal;
}

/* Returns the entry's size: the shape's if nothing is padded, else as printed, in granules. */
static uint64_t round_entry(const struct listed_allocation *entry, uint64_t granule_bytes)
{
    struct size_range range = entry->size;
    const uint64_t exact_bytes = align_up(entry->shape_bytes, granule_bytes);
    if (!entry->padding.is_said && entry->shape_bytes != 0 && exact_bytes >= range.low &&
        exact_bytes <= range.high) {
        return exact_bytes;
    }
    return printed_size_align(&range, granule_bytes) ? range.nominal
                                                     : align_up(range.high, granule_bytes);
}

/* Finds a contradiction in an entry: dimensions times element size must be the unpadded size, and
 * that with the padding must be the size. */
static const char *find_entry_fault(const struct listed_allocation *entry)
{
    const struct size_range *size = &entry->size;
    const struct size_range *unpadded = &entry->unpadded.range;
    const struct size_range *padding = &entry->padding.range;
    if (entry->shape_bytes != 0 && entry->unpadded.is_said &&
        (entry->shape_bytes < unpadded->low || entry->shape_bytes > unpadded->high)) {
        return "the bytes of the shape are not the unpadded size";
    }
    if (entry->unpadded.is_said && unpadded->low > size->high) {
        return "the unpadded size is above the size";
    }
    const uint64_t low = size->low > unpadded->high ? size->low - unpadded->high : 0;
    if (entry->unpadded.is_said && entry->padding.is_said &&
        (padding->high < low || padding->low > size->high - unpadded->low)) {
        return "the size minus the unpadded size is not the padding";
    }
    return NULL;
}

/* Arguments that are listed, as long as they are within their sum; the rest is one block. */
static void append_arguments(struct report_building *building)
{
    const struct hbm_report *report = building->report;
    uint64_t left_bytes = building->plan.argument_bytes;
    for (size_t i = 0; i < report->entry_count && !building->is_over; i++) {
        const struct listed_allocation *entry = &report->entries[i];
        const uint64_t size_bytes = round_entry(entry, building->plan.granule_bytes);
        if (entry->is_whole && entry->is_argument && size_bytes > 0 && size_bytes <= left_bytes &&
            can_fit(building, size_bytes)) {
            (void)append_block(building, size_bytes, choose_entry_unpadded(entry), entry->name);
            left_bytes -= size_bytes;
            building->part_count++;
        }
    }
    const bool is_core = report->form == COMPILE_FORM_CORES;
    if (left_bytes > 0 && !building->is_over) {
        (void)append_block(building, left_bytes, 0, is_core ? "TensorCore" : "arguments");
    }
}

/* True if the entry is part of what is in the program's stack. */
static bool is_in_stack(const struct listed_allocation *entry)
{
    return entry->is_whole && !entry->is_argument &&
           (strcmp(entry->type, "HLO temp") == 0 || strcmp(entry->type, "global") == 0 ||
            strcmp(entry->type, "scoped") == 0);
}

/* The listed temporaries, if all can be there at once, as they are at the peak that the report is
 * about. */
static void append_parts(struct report_building *building)
{
    const struct hbm_report *report = building->report;
    struct hbm_report_plan *plan = &building->plan;
    uint64_t sum_bytes = 0;
    for (size_t i = 0; i < report->entry_count; i++) { /* 64 entries of up to 2^50 */
        sum_bytes += is_in_stack(&report->entries[i]) ? report->entries[i].size.low : 0;
    }
    building->is_of_peak = sum_bytes <= plan->stack_bytes;
    for (size_t i = 0; i < report->entry_count && !building->is_over && building->is_of_peak; i++) {
        const struct listed_allocation *entry = &report->entries[i];
        const uint64_t size_bytes = round_entry(entry, plan->granule_bytes);
        if (is_in_stack(entry) && size_bytes > 0 && size_bytes <= plan->stack_bytes &&
            can_fit(building, size_bytes)) {
            (void)append_block(building, size_bytes, choose_entry_unpadded(entry), entry->name);
            plan->stack_bytes -= size_bytes;
            building->part_count++;
        }
    }
}

static void append_ops(struct report_building *building)
{
    const struct hbm_report_plan *plan = &building->plan;
    if (plan->reserved_bytes > 0) {
        const uint32_t block = append_block(building, plan->reserved_bytes, 0, SETUP_RESERVED_NAME);
        if (!building->is_over) {
            (void)import_append(building->import, &OP_ON(OP_HOLD, block, .host = 0));
        }
    }
    if (!building->is_over) {
        append_arguments(building);
    }
    if (plan->other_bytes > 0 && !building->is_over) {
        (void)append_block(building, plan->other_bytes, 0, "other");
    }
    append_parts(building);
    const struct op program = OP_TO_MAKE(
        OP_LOAD, .size_bytes = plan->image_bytes, .stack_bytes = plan->stack_bytes,
        .tag = make_tag(building, building->report->form == COMPILE_FORM_CORES ? "SparseCore"
                                  : building->part_count > 0 ? "the rest of the program"
                                                             : "the program"));
    if (program.size_bytes > 0 && !building->is_over) {
        import_say(building->import, import_append(building->import, &program), SAID_FAILED, 0);
        building->is_over = true;
    }
}

/* --- notes --- */

static void note_capacity(const struct report_building *building, const struct setup *fixed)
{
    const struct hbm_report_plan *plan = &building->plan;
    char size[SIZE_TEXT_BYTES];
    size_print_field(plan->capacity_bytes, size);
    if (import_fixed_capacity(fixed, plan->granule_bytes) != 0) {
        import_note(building->import, "capacity %s: as given%s", size,
                    plan->used_bytes <= plan->capacity_bytes
                        ? "; the program of the report fits there"
                        : "");
    } else if (plan->chip != NULL) {
        import_assume(building->import,
                      "capacity %s is that of chip %s to the byte, which prints the same", size,
                      plan->chip);
    } else {
        import_note(building->import, "capacity %s: from the report", size);
    }
}

static void note_use(const struct report_building *building)
{
    const struct hbm_report_plan *plan = &building->plan;
    struct import *import = building->import;
    import_assume(import,
                  "in the list, printed sizes are rounded; chosen: %" PRIu64
                  " used, of them %" PRIu64 " reserved, %" PRIu64 " arguments, %" PRIu64
                  " image, %" PRIu64 " other than these and the stack",
                  plan->used_bytes, plan->reserved_bytes, plan->argument_bytes, plan->image_bytes,
                  plan->other_bytes);
    if (building->report->numbers[COMPILE_RESERVED].is_said && plan->reserved_bytes == 0) {
        import_note(
            import,
            "the reserved bytes are not part of the used bytes: the capacity leaves them out");
    }
    if (plan->has_other_total) {
        import_note(import, "\"Total\" is not \"Used\" plus the reserved bytes: \"Used\" counts");
    }
    if (plan->rows_disagree) {
        import_note(
            import,
            "the rows of the program's requirement sum to more than the requirement, which counts");
    }
    if (!building->report->numbers[COMPILE_ARGUMENTS].is_said &&
        building->report->form == COMPILE_FORM_SECTIONS) {
        import_assume(import, "no arguments, as the report does not give their size");
    }
    if (plan->image_is_assumed) {
        import_assume(
            import,
            "in the list, an image of one granule: the report does not separate it from the stack");
    }
}

static void note_entries(const struct report_building *building)
{
    const struct hbm_report *report = building->report;
    char padding[SIZE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
    uint64_t padding_bytes = 0, size_bytes = 0;
    size_t padded_count = 0, whole_count = 0;
    for (size_t i = 0; i < report->entry_count; i++) {
        const struct listed_allocation *entry = &report->entries[i];
        if (!entry->is_whole) {
            continue;
        }
        whole_count++;
        const uint64_t bytes = round_entry(entry, building->plan.granule_bytes);
        const uint64_t unpadded_bytes = choose_entry_unpadded(entry);
        const bool is_padded = entry->padding.is_said && unpadded_bytes < bytes;
        padded_count += is_padded ? 1 : 0;
        padding_bytes += is_padded ? bytes - unpadded_bytes : 0;
        size_bytes += bytes;
    }
    if (whole_count > 0) {
        size_print_field(padding_bytes, padding);
        size_print_field(size_bytes, size);
        import_note(
            building->import,
            "listed allocations: %zu, %s; %s of that is padding, in %zu; blocks of their own: %zu",
            whole_count, size, padding, padded_count, building->part_count);
    }
    if (whole_count > 0 && !building->is_of_peak) {
        import_note(
            building->import,
            "the listed temporaries are larger than what the program has at once: they stay in its stack");
    }
}

static void fill_setup(const struct report_building *building, const struct setup *fixed)
{
    struct setup *setup = &building->import->setup;
    import_apply_fixed(fixed, setup);
    setup->capacity_bytes = building->plan.capacity_bytes;
    setup->granule_bytes = building->plan.granule_bytes;
    snprintf(setup->system, sizeof setup->system, "%s",
             building->report->form == COMPILE_FORM_GPU ? "xla_gpu" : "xla_tpu");
    if (building->plan.chip != NULL) {
        snprintf(setup->chip, sizeof setup->chip, "%s", building->plan.chip);
    }
}

/* --- forms --- */

/* Returns the name of what found no place: the temporaries, one block, or a result, which then is
 * not there yet. */
static const char *choose_gpu_request_name(struct report_building *building,
                                           uint64_t *live_out_bytes)
{
    const struct compile_size *numbers = building->report->numbers;
    const struct size_range *request = &numbers[COMPILE_GPU_REQUEST].range;
    const struct size_range *temp = &numbers[COMPILE_GPU_TEMP].range;
    const uint64_t mask = building->plan.granule_bytes - 1;
    if (!numbers[COMPILE_GPU_REQUEST].is_said) {
        import_assume(building->import,
                      "the request is the preallocated temporaries: the log does not give it");
        return "temporaries";
    }
    if (request->low <= temp->high + mask && request->high >= temp->low) {
        return "temporaries";
    }
    if (request->low > *live_out_bytes + mask) {
        import_note(building->import,
                    "the request is neither the temporaries nor one of the results");
        return "request";
    }
    import_assume(
        building->import, "the request is a result%s",
        temp->high > 0
            ? "; the log does not show whether the temporaries were live: they are left out"
            : "");
    *live_out_bytes -= request->nominal < *live_out_bytes ? request->nominal : *live_out_bytes;
    return "results";
}

/* Parameters, constants and results are there.  Results that are parameters are counted once. */
static const char *build_gpu(struct report_building *building, const struct setup *fixed)
{
    const struct compile_size *numbers = building->report->numbers;
    const uint64_t request_bytes =
        numbers[numbers[COMPILE_GPU_REQUEST].is_said ? COMPILE_GPU_REQUEST : COMPILE_GPU_TEMP]
            .range.nominal;
    const uint64_t before_bytes = numbers[COMPILE_GPU_PARAMETERS].range.nominal +
                                  numbers[COMPILE_GPU_CONSTANTS].range.nominal;
    const uint64_t without_bytes = before_bytes + numbers[COMPILE_GPU_TEMP].range.nominal;
    uint64_t live_out_bytes = numbers[COMPILE_GPU_LIVE_OUT].range.nominal;
    const uint64_t total_bytes = numbers[COMPILE_GPU_TOTAL].range.high;
    if (total_bytes < numbers[COMPILE_GPU_TEMP].range.low || request_bytes == 0) {
        return "the total allocation is below the preallocated temp allocation, or the request has 0 bytes";
    }
    if (without_bytes + live_out_bytes > total_bytes) {
        const uint64_t sum_bytes = numbers[COMPILE_GPU_TOTAL].range.nominal;
        live_out_bytes = sum_bytes > without_bytes ? sum_bytes - without_bytes : 0;
        import_note(building->import, "results that are also parameters are counted once");
    }
    const char *request_name = choose_gpu_request_name(building, &live_out_bytes);
    building->plan.capacity_bytes = import_fixed_capacity(fixed, building->plan.granule_bytes);
    const struct {
        uint64_t bytes;
        const char *name;
    } blocks[] = {{numbers[COMPILE_GPU_PARAMETERS].range.nominal, "parameters"},
                  {numbers[COMPILE_GPU_CONSTANTS].range.nominal, "constants"},
                  {live_out_bytes, "results"}};
    const size_t block_count = sizeof blocks / sizeof blocks[0];
    uint64_t need_bytes = 0;
    for (size_t i = 0; i < block_count; i++) {
        need_bytes += align_up(blocks[i].bytes, building->plan.granule_bytes);
    }
    if (!can_fit(building, need_bytes)) {
        snprintf(building->refusal, sizeof building->refusal,
                 "the capacity of %" PRIu64 " bytes is below the %" PRIu64
                 " bytes that the report needs",
                 building->plan.capacity_bytes, need_bytes);
        return building->refusal;
    }
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].bytes > 0) {
            (void)append_block(building, align_up(blocks[i].bytes, building->plan.granule_bytes),
                               blocks[i].bytes, blocks[i].name);
        }
    }
    const struct op op = OP_TO_MAKE(OP_ALLOC, .size_bytes = request_bytes,
                                    .tag = make_tag(building, request_name));
    if (numbers[COMPILE_GPU_REQUEST].range.low != numbers[COMPILE_GPU_REQUEST].range.high) {
        import_assume(building->import, "the printed request is rounded; chosen: %" PRIu64 " bytes",
                      request_bytes);
    }
    import_say(building->import, import_append(building->import, &op), SAID_FAILED, 0);
    import_note(building->import, "the capacity is as given");
    import_assume(building->import,
                  "nothing else was on the device: the log does not show what else there was");
    return NULL;
}

static enum import_result fail_invalid(const struct import_input *input, struct import_error *error,
                                       size_t at, const char *reason)
{
    size_t line = 0;
    size_t column = 0;
    import_position(input->text, at < input->length ? at : input->length, &line, &column);
    return import_fail(error, IMPORT_INVALID, line, column, "%s", reason);
}

static const char *check_entries(const struct hbm_report *report, size_t *at)
{
    for (size_t i = 0; i < report->entry_count; i++) {
        const struct listed_allocation *entry = &report->entries[i];
        const char *reason = entry->size.high > IMPORT_CAPACITY_MAX ? "a size is above 1P"
                             : entry->is_whole                      ? find_entry_fault(entry)
                                                                    : NULL;
        *at = entry->begin;
        if (reason != NULL) {
            return reason;
        }
    }
    return NULL;
}

static enum import_result build_gpu_report(struct report_building *building,
                                           const struct import_input *input,
                                           struct import_error *error)
{
    building->plan.granule_bytes = input->fixed->granule_bytes != 0 ? input->fixed->granule_bytes
                                                                    : 256; /* BFC's */
    for (int i = COMPILE_GPU_REQUEST; i <= COMPILE_GPU_TOTAL; i++) {
        const struct compile_size *number = &building->report->numbers[i];
        if (number->range.high > IMPORT_CAPACITY_MAX) {
            return fail_invalid(input, error, number->at, "a size is above 1P");
        }
    }
    const char *reason = build_gpu(building, input->fixed);
    if (reason != NULL) {
        return fail_invalid(input, error, building->report->begin, reason);
    }
    fill_setup(building, input->fixed);
    return IMPORT_OK;
}

enum import_result hbm_report_build(const struct hbm_report *report,
                                    const struct import_input *input, struct import *import,
                                    struct import_error *error)
{
    struct report_building building = {.report = report, .import = import};
    size_t at = report->begin;
    if (report->form == COMPILE_FORM_GPU) {
        return build_gpu_report(&building, input, error);
    }
    const char *reason = check_entries(report, &at);
    if (reason == NULL) {
        reason = hbm_report_choose(report, input->fixed, &building.plan, &at);
    }
    if (reason != NULL) {
        return fail_invalid(input, error, at, reason);
    }
    if (report->form == COMPILE_FORM_ALLOCATION) {
        const struct op buffer = OP_TO_MAKE(
            OP_ALLOC, .size_bytes = report->numbers[COMPILE_USED].range.nominal);
        import_say(import, import_append(import, &buffer), SAID_FAILED, 0);
    } else {
        append_ops(&building);
    }
    fill_setup(&building, input->fixed);
    note_capacity(&building, input->fixed);
    if (report->form != COMPILE_FORM_ALLOCATION) {
        note_use(&building);
        note_entries(&building);
    }
    return IMPORT_OK;
}
