/* A report for people: the whole list with its texts, and remarks on what is missing from it or
 * does not agree. */
#include "formats/common/cursor.h"
#include "formats/xla/private/hbm_report.h"

#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SOURCE_BYTES = 512 };

bool hbm_report_may_be_told(const struct hbm_report *report)
{
    const struct compile_size *numbers = report->numbers;
    const bool is_of_device = report->space[0] == '\0' || strcmp(report->space, "hbm") == 0;
    return is_of_device && (numbers[COMPILE_USED].is_said || numbers[COMPILE_PROGRAM].is_said ||
                            numbers[COMPILE_REQUIREMENT].is_said ||
                            numbers[COMPILE_GPU_TOTAL].is_said || report->entry_count > 0);
}

/* --- entries --- */

/* Finds what stands behind key, up to a closing quote or, where the key has none, a blank.  In JSON
 * quotes are escaped. */
static bool find_part(const struct text_part *in, const char *key, struct text_part *found)
{
    const size_t key_length = strlen(key);
    const bool is_quoted = key[key_length - 1] == '"';
    const char *begin = memmem(in->at, in->length, key, key_length);
    if (begin == NULL) {
        return false;
    }
    begin += key_length;
    const char *stop = in->at + in->length;
    const char *end = begin;
    while (end < stop && (is_quoted ? *end != '"' : (*end >= '0' && *end <= '9'))) {
        end++;
    }
    end -= is_quoted && end > begin && end[-1] == '\\' ? 1 : 0;
    *found = (struct text_part){begin, (size_t)(end - begin)};
    return found->length > 0;
}

static bool find_quoted_part(const struct text_part *in, const char *name, struct text_part *found)
{
    char key[64];
    snprintf(key, sizeof key, " %s=\"", name);
    const char *bare = key + 1; /* at the beginning of the line no blank stands before it */
    char escaped[64];
    snprintf(escaped, sizeof escaped, "%s=\\\"", name);
    return find_part(in, key, found) || find_part(in, escaped, found) || find_part(in, bare, found);
}

/* Tells where in the user's program it comes from: file and line, or a stack frame's number. */
static void tell_source(const struct text_part *operator, struct compile_allocation * allocation)
{
    struct text_part file, number;
    char source[SOURCE_BYTES];
    if (find_quoted_part(operator, "source_file", &file)) {
        const bool has_line = find_part(operator, "source_line=", &number);
        const size_t kept = file.length < sizeof source - 32 ? file.length : sizeof source - 32;
        const int length = snprintf(source, sizeof source, "%.*s%s%.*s", (int)kept, file.at,
                                    has_line ? ":" : "", has_line ? (int)number.length : 0,
                                    has_line ? number.at : "");
        compile_report_set(&allocation->source, source, (size_t)length);
    } else if (find_part(operator, "stack_frame_id=", &number)) {
        const int length = snprintf(source, sizeof source, "stack frame %.*s", (int)number.length,
                                    number.at);
        compile_report_set(&allocation->source, source, (size_t)length);
    }
}

/* "%fusion.11 = f32[...] fusion(...)" is fusion.11. */
static void tell_label(const struct text_part *label, struct compile_allocation *allocation)
{
    const char *equals = memmem(label->at, label->length, " = ", 3);
    const size_t length = equals == NULL ? label->length : (size_t)(equals - label->at);
    const size_t skipped = length > 0 && label->at[0] == '%' ? 1 : 0;
    compile_report_set(&allocation->label, label->at + skipped, length - skipped);
}

static struct text_part get_part(const struct import_input *input, struct hbm_report_span span)
{
    return (struct text_part){input->text + span.at, span.length};
}

static void tell_entry(const struct listed_allocation *entry, const struct import_input *input,
                       struct compile_allocation *allocation)
{
    const struct text_part operator= get_part(input, entry->operator);
    const struct text_part shape = get_part(input, entry->shape);
    const struct text_part label = get_part(input, entry->label);
    const struct hbm_report_shape parsed = hbm_report_parse_shape(shape.at, shape.length);
    allocation->size = entry->size;
    allocation->unpadded = entry->unpadded;
    allocation->padding = entry->padding;
    allocation->number = entry->number;
    allocation->is_argument = entry->is_argument;
    allocation->shape_bytes = parsed.bytes;
    allocation->tiled_bytes = parsed.tiled_bytes;
    allocation->innermost = parsed.innermost;
    allocation->innermost_tiled = parsed.innermost_tiled;
    compile_report_set(&allocation->shape, shape.at, shape.length);
    compile_report_set(&allocation->type, entry->type, strlen(entry->type));
    struct text_part name;
    if (find_quoted_part(&operator, "op_name", &name) ||
        find_quoted_part(&operator, "op_type", &name)) {
        compile_report_set(&allocation->op, name.at, name.length);
    }
    tell_source(&operator, allocation);
    tell_label(&label, allocation);
}

/* --- whether it agrees with itself --- */

static void remark_lost(const struct hbm_report *report, struct compile_report *told)
{
    size_t shown = 0; /* of the entries of its lists */
    for (size_t i = 0; i < report->entry_count; i++) {
        shown += report->entries[i].is_whole ? 0 : 1;
    }
    const size_t lost = report->cut_count > shown ? report->cut_count - shown : 0;
    if (shown > 0) {
        compile_report_remark(told, "%zu allocation%s cut off: what is there of %s is listed",
                              shown, shown == 1 ? " is" : "s are", shown == 1 ? "it" : "them");
    }
    if (lost > 0) {
        compile_report_remark(
            told,
            "%zu allocation%s not listed here: the beginning is cut off, or beyond the first %d",
            lost, lost == 1 ? " is" : "s are", HBM_REPORT_ENTRY_COUNT_MAX);
    }
    if (report->form == COMPILE_FORM_ENTRIES) {
        compile_report_remark(
            told,
            "its beginning is cut off: the used bytes, the capacity and the totals are not known");
    }
}

/* Entries of one kind. */
struct listed {
    size_t count;
    uint64_t low, high, nominal;
};

static struct listed sum_entries(const struct hbm_report *report, const char *type)
{
    struct listed sum = {0};
    for (size_t i = 0; i < report->entry_count; i++) {
        const struct listed_allocation *entry = &report->entries[i];
        const bool is_one = type == NULL ? entry->is_argument
                                         : !entry->is_argument && strcmp(entry->type, type) == 0;
        if (is_one) { /* 64 entries of up to 2^50 */
            sum.count++;
            sum.low += entry->size.low;
            sum.high += entry->size.high;
            sum.nominal += entry->size.nominal;
        }
    }
    return sum;
}

/* The listed ones against the total of their kind, in which gaps may be. */
static void remark_sum(const struct listed *sum, const struct compile_size *total, const char *what,
                       const struct compile_size *gaps, struct compile_report *told)
{
    char listed[SIZE_TEXT_BYTES], whole[SIZE_TEXT_BYTES];
    if (sum->count == 0 || !total->is_said) {
        return;
    }
    size_print_field(sum->nominal, listed);
    size_print_field(total->range.nominal, whole);
    if (sum->low > total->range.high) {
        compile_report_remark(
            told,
            "the report lists %zu %s of %s, more than its total of %s: they are not all live at once",
            sum->count, what, listed, whole);
    } else if (sum->high < total->range.low) {
        compile_report_remark(
            told, "the report lists %zu %s of %s; its total says %s: %s are not listed%s%s%s",
            sum->count, what, listed, whole, size_text_of(total->range.nominal - sum->nominal).text,
            gaps->is_said ? ", of them " : "",
            gaps->is_said ? size_text_of(gaps->range.nominal).text : "",
            gaps->is_said ? " fragmentation" : "");
    }
}

/* "Total" is "Used", or that and what is reserved. */
static void remark_total(const struct hbm_report *report, struct compile_report *told)
{
    const struct size_range *total = &report->numbers[COMPILE_TOTAL].range;
    const struct size_range *used = &report->numbers[COMPILE_USED].range;
    const struct size_range *reserved = &report->numbers[COMPILE_RESERVED].range;
    if (!report->numbers[COMPILE_TOTAL].is_said || !report->numbers[COMPILE_USED].is_said) {
        return;
    }
    const bool is_same = total->high >= used->low && total->low <= used->high;
    const bool is_sum = total->high >= used->low + reserved->low &&
                        total->low <= used->high + reserved->high;
    if (!is_same && !is_sum) {
        compile_report_remark(told,
                              "its total of %s is neither the used %s nor that and what is "
                              "reserved; the used bytes count",
                              size_text_of(total->nominal).text, size_text_of(used->nominal).text);
    }
}

/* The parts of "Used" against it. */
static void remark_parts(const struct hbm_report *report, struct compile_report *told)
{
    const struct compile_size *numbers = report->numbers;
    const struct size_range *used = &numbers[COMPILE_USED].range;
    const struct size_range *program = &numbers[COMPILE_PROGRAM].range;
    const struct size_range *arguments = &numbers[COMPILE_ARGUMENTS].range;
    const uint64_t reserved_high = numbers[COMPILE_RESERVED].range.high;
    if (report->form != COMPILE_FORM_SECTIONS || !numbers[COMPILE_USED].is_said ||
        !numbers[COMPILE_PROGRAM].is_said || !numbers[COMPILE_ARGUMENTS].is_said) {
        return;
    }
    const uint64_t most = program->high + arguments->high + reserved_high;
    if (used->low > most) {
        compile_report_remark(
            told,
            "program and arguments are %s less than the used bytes: the report "
            "does not say what that is",
            size_text_of(used->nominal - program->nominal - arguments->nominal).text);
    }
}

/* The size of an entry against its shape in the tiles of its layout. */
static void remark_tiles(struct compile_report *told)
{
    for (size_t i = 0; i < told->allocation_count; i++) {
        const struct compile_allocation *allocation = &told->allocations[i];
        const uint64_t bytes = allocation->tiled_bytes;
        if (bytes != 0 && (bytes > allocation->size.high || bytes < allocation->size.low)) {
            compile_report_remark(
                told, "allocation %zu has %s, but its shape in the tiles of its layout has %s",
                i + 1, size_text_of(allocation->size.nominal).text, size_text_of(bytes).text);
        }
    }
}

struct compile_report *hbm_report_tell(const struct hbm_report *report,
                                       const struct import_input *input)
{
    struct compile_report *told = compile_report_create();
    told->form = report->form;
    memcpy(told->numbers, report->numbers, sizeof told->numbers);
    told->utilization = report->utilization;
    told->fragmentation = report->fragmentation;
    told->given_capacity_bytes = import_fixed_capacity(input->fixed, 0);
    compile_report_set(&told->chip, input->fixed->chip, strlen(input->fixed->chip));
    compile_report_set(&told->module, input->text + report->module.at, report->module.length);
    for (size_t i = 0; i < report->entry_count; i++) {
        tell_entry(&report->entries[i], input, compile_report_add(told));
    }
    remark_lost(report, told);
    const struct listed temporaries = sum_entries(report, "HLO temp");
    const struct listed arguments = sum_entries(report, NULL);
    remark_sum(&temporaries, &report->numbers[COMPILE_ROW_TEMP], "temporaries (HLO temp)",
               &report->numbers[COMPILE_FRAGMENTATION], told);
    remark_sum(&arguments, &report->numbers[COMPILE_ARGUMENTS], "arguments and outputs",
               &(struct compile_size){0}, told);
    remark_total(report, told);
    remark_parts(report, told);
    remark_tiles(told);
    CHECK(told->allocation_count == report->entry_count);
    return told;
}
