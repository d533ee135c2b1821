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
#include "formats/common/capacity.h"
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

/* What an allocation is for; one that is a parameter and a result is a parameter. */
enum part {
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

struct part_text {
    const char *text;
    size_t length;
};

/* One line of the list for people. */
struct told {
    uint64_t size_bytes;
    struct part_text name, shape;
    enum part part;
    bool is_value; /* of temporaries, which share their bytes */
};

struct assignment {
    const struct import_input *input;
    struct import *import;
    struct import_error *error;
    const char *line, *end; /* the line that is read */
    size_t line_number;
    bool is_in_allocation;
    bool is_local; /* thread-local: not memory of the device */
    enum part part;
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
    return import_fail(assignment->error, IMPORT_INVALID, assignment->line_number, 1, "%s", reason);
}

/* --- lines --- */

/* Goes behind the words; false: they are not there. */
static bool skip(const char **at, const char *end, const char *words)
{
    const size_t length = strlen(words);
    if ((size_t)(end - *at) < length || memcmp(*at, words, length) != 0) {
        return false;
    }
    *at += length;
    return true;
}

static bool take_number(const char **at, const char *end, uint64_t *number)
{
    const char *begin = *at;
    while (*at < end && **at >= '0' && **at <= '9') {
        (*at)++;
    }
    return number_parse(begin, (size_t)(*at - begin), number);
}

static bool has_attribute(const struct assignment *assignment, const char *at, const char *words)
{
    return memmem(at, (size_t)(assignment->end - at), words, strlen(words)) != NULL;
}

/* "shape |f32[1024]|". */
static struct part_text find_shape(const struct assignment *assignment, const char *at)
{
    const char *begin = memmem(at, (size_t)(assignment->end - at), "shape |", 7);
    if (begin == NULL) {
        return (struct part_text){at, 0};
    }
    begin += 7;
    const char *stop = memchr(begin, '|', (size_t)(assignment->end - begin));
    return (struct part_text){begin, stop == NULL ? 0 : (size_t)(stop - begin)};
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

static enum part find_part(const struct assignment *assignment, const char *at)
{
    for (int i = 0; i < PART_OTHER; i++) {
        if (has_attribute(assignment, at, part_kinds[i].attribute)) {
            return (enum part)i;
        }
    }
    return PART_OTHER;
}

static void append_op(struct assignment *assignment)
{
    const uint64_t mask = assignment->import->setup.granule_bytes - 1;
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = (assignment->size_bytes + mask) & ~mask;
    op.unpadded_bytes = assignment->size_bytes < op.size_bytes ? assignment->size_bytes : 0;
    op.tag = (uint8_t)(assignment->part + 1);
    assignment->rounded_bytes += op.size_bytes;
    (void)import_append(assignment->import, &op);
}

/* "allocation I: size N, ...:" */
static enum import_result read_allocation(struct assignment *assignment, const char *at)
{
    uint64_t index = 0, size_bytes = 0;
    if (!take_number(&at, assignment->end, &index) || !skip(&at, assignment->end, ": size ") ||
        !take_number(&at, assignment->end, &size_bytes)) {
        return fail(assignment, "an allocation has no number or no size");
    }
    if (size_bytes > CAPACITY_BYTES_MAX ||
        assignment->sum_bytes + size_bytes > CAPACITY_BYTES_MAX) {
        return fail(assignment, "the allocations are above 1P");
    }
    assignment->is_in_allocation = true;
    assignment->is_local = has_attribute(assignment, at, ", thread-local");
    assignment->part = find_part(assignment, at);
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
                                            .shape = find_shape(assignment, at),
                                            .name = {at, 0},
                                            .part = assignment->part});
    }
    return IMPORT_OK;
}

/* " value: <ID NAME @K> (size=N,offset=N): SHAPE" */
static enum import_result read_value(struct assignment *assignment, const char *at)
{
    const char *end = assignment->end;
    uint64_t id = 0, size_bytes = 0, offset = 0;
    const char *sizes = memmem(at, (size_t)(end - at), "> (size=", 8);
    if (!take_number(&at, end, &id) || !skip(&at, end, " ") || sizes == NULL || sizes < at) {
        return fail(assignment, "a value has no name or no size");
    }
    const char *stop = memmem(at, (size_t)(sizes - at), " @", 2);
    const struct part_text name = {at, (size_t)((stop == NULL ? sizes : stop) - at)};
    at = sizes + 8;
    if (!take_number(&at, end, &size_bytes) || !skip(&at, end, ",offset=") ||
        !take_number(&at, end, &offset) || !skip(&at, end, ")")) {
        return fail(assignment, "a value has no size or no offset");
    }
    if (!assignment->is_in_allocation || size_bytes > assignment->size_bytes ||
        offset > assignment->size_bytes - size_bytes) {
        return fail(assignment, "a value lies outside its allocation");
    }
    (void)skip(&at, end, ": ");
    if (!assignment->is_local && assignment->part == PART_TEMPORARY && size_bytes > 0) {
        assignment->value_count++;
        assignment->value_bytes += size_bytes;
        add_told(assignment, &(struct told){.size_bytes = size_bytes,
                                            .name = name,
                                            .shape = {at, (size_t)(end - at)},
                                            .part = PART_TEMPORARY,
                                            .is_value = true});
    }
    return IMPORT_OK;
}

static enum import_result read_line(struct assignment *assignment)
{
    const char *at = assignment->line;
    while (at < assignment->end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    if (skip(&at, assignment->end, "allocation ")) {
        return read_allocation(assignment, at);
    }
    if (skip(&at, assignment->end, "value: <")) {
        return read_value(assignment, at);
    }
    if (skip(&at, assignment->end, "Total bytes used: ")) {
        assignment->has_total = take_number(&at, assignment->end, &assignment->total_bytes);
    }
    return IMPORT_OK;
}

/* Up to the total: what follows it says of each value where it is used. */
static enum import_result read_lines(struct assignment *assignment)
{
    const char *end = assignment->input->text + assignment->input->length;
    const char *at = assignment->input->text + HEADING_BYTES;
    assignment->line_number = 1;
    for (; at < end && !assignment->has_total; at++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        assignment->line = at;
        assignment->end = stop == NULL ? end : stop;
        at = assignment->end;
        assignment->end -= assignment->end > assignment->line && assignment->end[-1] == '\r' ? 1
                                                                                             : 0;
        IMPORT_TRY(read_line(assignment));
        assignment->line_number++;
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
        compile_report_set(&allocation->shape, told->shape.text, told->shape.length);
        compile_report_set(&allocation->label, told->name.text, told->name.length);
        compile_report_set(&allocation->type, type, strlen(type));
    }
}

static void remark(const struct assignment *assignment, struct compile_report *report)
{
    char values[SIZE_TEXT_BYTES], temporaries[SIZE_TEXT_BYTES];
    const uint64_t temporary_bytes = assignment->part_bytes[PART_TEMPORARY];
    if (assignment->value_bytes > temporary_bytes) {
        size_print_field(assignment->value_bytes, values);
        size_print_field(temporary_bytes, temporaries);
        compile_report_remark(report,
                              "%" PRIu64 " values of %s share the %s of temporaries, each in its "
                              "own time",
                              assignment->value_count, values, temporaries);
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
    const enum import_result result = read_lines(&assignment);
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
