/* The buffers of one compiled program, as XLA dumps them (--xla_dump_to: *-buffer-assignment.txt).
 *
 *     BufferAssignment:
 *     allocation 0: size 4096, parameter 0, shape |f32[1024]| at ShapeIndex {}:
 *      value: <3 p0 @0> (size=4096,offset=0): f32[1024]{0}
 *     allocation 1: size 8192, preallocated-temp:
 *      value: <7 fusion @0> (size=8192,offset=0): f32[2048]{0}
 *
 *     Total bytes used: 12288 (12.0KiB)
 *
 * Sizes are exact.  Values of one allocation may lie over one another: they live at different
 * times. */
#include "formats/common/cursor.h"
#include "formats/common/import.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char heading[] = "BufferAssignment:";
enum {
    HEADING_BYTES = sizeof heading - 1,
    TOLD_COUNT_MAX = 64,
    BFC_GRANULE_BYTES = 256 /* in which XLA:GPU's allocator rounds */
};

/* The use of an allocation; one that is a parameter and a result is a parameter. */
enum assignment_part {
    PART_PARAMETER = 0,
    PART_CONSTANT,
    PART_TEMPORARY,
    PART_RESULT,
    PART_OTHER,
    PART_COUNT
};

static const struct {
    const char *attribute; /* in the line of the allocation */
    const char *name;      /* for people, and of the tag */
    enum compile_number number;
} part_kinds[PART_COUNT] = {
    {", parameter ", "parameters", COMPILE_GPU_PARAMETERS},
    {", constant", "constants", COMPILE_GPU_CONSTANTS},
    {", preallocated-temp", "temporaries", COMPILE_GPU_TEMP},
    {", maybe-live-out", "results", COMPILE_GPU_LIVE_OUT},
    {"", "other", COMPILE_NUMBER_COUNT},
};

/* One line of the list for people. */
struct told {
    uint64_t size_bytes;
    struct text_part name, shape;
    enum assignment_part part;
    bool is_value; /* of temporaries, which share their bytes */
};

struct assignment {
    const struct import_input *input;
    struct import *import;
    struct import_error *error;
    struct cursor line; /* that is read */
    bool is_in_allocation;
    bool is_local; /* thread-local: not memory of the device */
    enum assignment_part part;
    uint64_t size_bytes;               /* of the allocation */
    uint64_t part_bytes[PART_COUNT];   /* sums, without thread-local ones */
    uint64_t sum_bytes, local_bytes;   /* of all; of thread-local ones */
    uint64_t rounded_bytes;            /* of the ops */
    uint64_t total_bytes;              /* as printed */
    uint64_t value_count, value_bytes; /* of temporaries */
    bool has_total;
    struct told told[TOLD_COUNT_MAX]; /* told_count of them, the largest first */
    size_t told_count, untold_count;
};

static enum import_result fail(struct assignment *assignment, const char *reason)
{
    return import_fail(assignment->error, IMPORT_INVALID, assignment->line.line, 1, "%s", reason);
}

/* --- lines --- */

static bool has_attribute(const struct cursor *line, const char *words)
{
    return memmem(line->at, (size_t)(line->end - line->at), words, strlen(words)) != NULL;
}

/* "shape |f32[1024]|". */
static struct text_part find_shape(struct cursor line)
{
    struct text_part before, shape;
    const bool has_shape = cursor_take_up_to(&line, "shape |", &before) &&
                           cursor_take_up_to(&line, "|", &shape);
    return has_shape ? shape : (struct text_part){line.at, 0};
}

/* Keeps the largest in order. */
static void add_told(struct assignment *assignment, const struct told *told)
{
    struct told *list = assignment->told;
    if (assignment->told_count == TOLD_COUNT_MAX) {
        assignment->untold_count++;
        if (told->size_bytes <= list[TOLD_COUNT_MAX - 1].size_bytes) {
            return;
        }
        assignment->told_count--;
    }
    size_t i = assignment->told_count++;
    for (; i > 0 && list[i - 1].size_bytes < told->size_bytes; i--) {
        list[i] = list[i - 1];
    }
    list[i] = *told;
}

static enum assignment_part find_part(const struct cursor *line)
{
    for (int i = 0; i < PART_OTHER; i++) {
        if (has_attribute(line, part_kinds[i].attribute)) {
            return (enum assignment_part)i;
        }
    }
    return PART_OTHER;
}

static void append_op(struct assignment *assignment)
{
    const uint64_t mask = assignment->import->setup.granule_bytes - 1;
    const uint64_t size_bytes = (assignment->size_bytes + mask) & ~mask;
    const bool is_padded = assignment->size_bytes < size_bytes;
    assignment->rounded_bytes += size_bytes;
    (void)import_append(assignment->import,
                        &OP_TO_MAKE(OP_ALLOC, .tag = (uint8_t)(assignment->part + 1),
                                    .size_bytes = size_bytes,
                                    .unpadded_bytes = is_padded ? assignment->size_bytes : 0));
}

/* "allocation I: size N, ...:" */
static enum import_result read_allocation(struct assignment *assignment)
{
    struct cursor *line = &assignment->line;
    uint64_t index = 0, size_bytes = 0;
    if (!cursor_take_number(line, &index) || !cursor_take_text(line, ": size ") ||
        !cursor_take_number(line, &size_bytes)) {
        return fail(assignment, "an allocation has no number or no size");
    }
    if (size_bytes > IMPORT_CAPACITY_MAX ||
        assignment->sum_bytes + size_bytes > IMPORT_CAPACITY_MAX) {
        return fail(assignment, "the allocations are above 1P");
    }
    assignment->is_in_allocation = true;
    assignment->is_local = has_attribute(line, ", thread-local");
    assignment->part = find_part(line);
    assignment->size_bytes = size_bytes;
    assignment->sum_bytes += size_bytes;
    if (assignment->is_local) {
        assignment->local_bytes += size_bytes;
        return IMPORT_OK;
    }
    assignment->part_bytes[assignment->part] += size_bytes;
    if (size_bytes > 0) {
        append_op(assignment);
    }
    if (size_bytes > 0 && assignment->part != PART_TEMPORARY) {
        add_told(assignment, &(struct told){.size_bytes = size_bytes,
                                            .shape = find_shape(*line),
                                            .name = {line->at, 0},
                                            .part = assignment->part});
    }
    return IMPORT_OK;
}

/* " value: <ID NAME @K> (size=N,offset=N): SHAPE" */
static enum import_result read_value(struct assignment *assignment)
{
    struct cursor *line = &assignment->line;
    uint64_t id = 0, size_bytes = 0, offset = 0;
    struct text_part name;
    if (!cursor_take_number(line, &id) || !cursor_take(line, ' ') ||
        !cursor_take_up_to(line, "> (size=", &name)) {
        return fail(assignment, "a value has no name or no size");
    }
    const char *stop = memmem(name.at, name.length, " @", 2);
    name.length = stop == NULL ? name.length : (size_t)(stop - name.at);
    if (!cursor_take_number(line, &size_bytes) || !cursor_take_text(line, ",offset=") ||
        !cursor_take_number(line, &offset) || !cursor_take(line, ')')) {
        return fail(assignment, "a value has no size or no offset");
    }
    if (!assignment->is_in_allocation || size_bytes > assignment->size_bytes ||
        offset > assignment->size_bytes - size_bytes) {
        return fail(assignment, "a value lies outside its allocation");
    }
    (void)cursor_take_text(line, ": ");
    if (!assignment->is_local && assignment->part == PART_TEMPORARY && size_bytes > 0) {
        assignment->value_count++;
        assignment->value_bytes += size_bytes;
        add_told(assignment, &(struct told){.size_bytes = size_bytes,
                                            .name = name,
                                            .shape = {line->at, (size_t)(line->end - line->at)},
                                            .part = PART_TEMPORARY,
                                            .is_value = true});
    }
    return IMPORT_OK;
}

static enum import_result read_line(struct assignment *assignment)
{
    struct cursor *line = &assignment->line;
    cursor_skip_blanks(line);
    if (cursor_take_text(line, "allocation ")) {
        return read_allocation(assignment);
    }
    if (cursor_take_text(line, "value: <")) {
        return read_value(assignment);
    }
    if (cursor_take_text(line, "Total bytes used: ")) {
        assignment->has_total = cursor_take_number(line, &assignment->total_bytes);
    }
    return IMPORT_OK;
}

/* --- for people --- */

static void tell_number(struct compile_report *report, enum compile_number number, uint64_t bytes)
{
    report->numbers[number] = (struct compile_size){.is_said = true,
                                                    .range = printed_size_exact(bytes)};
}

static void tell_list(const struct assignment *assignment, struct compile_report *report)
{
    for (size_t i = 0; i < assignment->told_count; i++) {
        const struct told *told = &assignment->told[i];
        struct compile_allocation *allocation = compile_report_add(report);
        const char *type = told->is_value ? "value in the temporaries"
                                          : part_kinds[told->part].name;
        allocation->size = printed_size_exact(told->size_bytes);
        compile_report_set(&allocation->shape, told->shape.at, told->shape.length);
        compile_report_set(&allocation->label, told->name.at, told->name.length);
        compile_report_set(&allocation->type, type, strlen(type));
    }
}

static void remark(const struct assignment *assignment, struct compile_report *report)
{
    const uint64_t temporary_bytes = assignment->part_bytes[PART_TEMPORARY];
    if (assignment->value_bytes > temporary_bytes) {
        compile_report_remark(report,
                              "%" PRIu64 " values of %s share the %s of temporaries, each in its "
                              "own time",
                              assignment->value_count, size_text_of(assignment->value_bytes).text,
                              size_text_of(temporary_bytes).text);
    }
    if (assignment->untold_count > 0) {
        compile_report_remark(report, "%zu smaller allocations and values are not listed here",
                              assignment->untold_count);
    }
    if (!assignment->has_total) {
        compile_report_remark(report, "the dump is cut off: it has no total");
    } else if (assignment->total_bytes != assignment->sum_bytes &&
               assignment->total_bytes != assignment->sum_bytes - assignment->local_bytes) {
        compile_report_remark(report,
                              "its total is %" PRIu64 " bytes, the allocations are %" PRIu64,
                              assignment->total_bytes, assignment->sum_bytes);
    }
}

static struct compile_report *tell(const struct assignment *assignment)
{
    struct compile_report *report = compile_report_create();
    report->form = COMPILE_FORM_ASSIGNMENT;
    report->given_capacity_bytes = import_fixed_capacity(assignment->input->fixed, 0);
    compile_report_set(&report->chip, assignment->input->fixed->chip,
                       strlen(assignment->input->fixed->chip));
    for (int i = 0; i < PART_OTHER; i++) {
        tell_number(report, part_kinds[i].number, assignment->part_bytes[i]);
    }
    tell_number(report, COMPILE_GPU_TOTAL, assignment->sum_bytes - assignment->local_bytes);
    tell_list(assignment, report);
    remark(assignment, report);
    return report;
}

/* --- the format --- */

static unsigned recognise_buffer_assignment(const char *text, size_t length)
{
    const bool is_one = length > HEADING_BYTES && memcmp(text, heading, HEADING_BYTES) == 0 &&
                        (text[HEADING_BYTES] == '\n' || text[HEADING_BYTES] == '\r');
    return is_one ? 95 : 0;
}

static enum import_result import_buffer_assignment(const struct import_input *input,
                                                   struct import *import,
                                                   struct import_error *error)
{
    struct assignment assignment = {.input = input, .import = import, .error = error};
    struct setup *setup = &import->setup;
    if (recognise_buffer_assignment(input->text, input->length) == 0) {
        return import_fail(error, IMPORT_INCOMPLETE, 1, 1,
                           "the first line is not \"BufferAssignment:\"");
    }
    setup->granule_bytes = input->fixed->granule_bytes != 0 ? input->fixed->granule_bytes
                                                            : BFC_GRANULE_BYTES;
    for (int i = 0; i < PART_COUNT; i++) {
        setup_set_tag(setup, (uint8_t)(i + 1), part_kinds[i].name);
    }
    enum import_result result = IMPORT_OK;
    struct cursor lines = cursor_make(input->text, input->length);
    /* Up to the total: what follows it says of each value where it is used. */
    while (result == IMPORT_OK && !assignment.has_total &&
           cursor_next_line(&lines, &assignment.line)) {
        result = read_line(&assignment);
    }
    if (result != IMPORT_OK || import->ops.count == 0) {
        return result; /* nothing to replay is refused by import_text() */
    }
    if (!assignment.has_total) {
        import_note(import, "the dump is cut off: it has no total");
    }
    if (import_fixed_capacity(input->fixed, 0) == 0) {
        import_assume(import, "the device has just what the program needs: the dump does not say "
                              "how much memory it has");
    }
    import->compile_report = tell(&assignment);
    return capacity_choose(input, setup->granule_bytes, assignment.rounded_bytes, import, error);
}

const struct format format_buffer_assignment = {
    .name = "buffer_assignment",
    .summary = "XLA's dump of a compiled program's buffers (--xla_dump_to, buffer-assignment.txt)",
    .recognise = recognise_buffer_assignment,
    .import = import_buffer_assignment,
};
