/* A compiler's report as lines of JSON. */
#include "explain/private/report_parts.h"
#include "harness/base/json.h"

#include <string.h>

/* Keys of the numbers; those without one are not there. */
static const char *const keys[COMPILE_NUMBER_COUNT] = {
    [COMPILE_USED] = "used_bytes",
    [COMPILE_CAPACITY] = "printed_capacity_bytes",
    [COMPILE_EXCEEDED] = "exceeded_bytes",
    [COMPILE_TOTAL] = "total_bytes",
    [COMPILE_RESERVED] = "reserved_bytes",
    [COMPILE_PROGRAM] = "program_bytes",
    [COMPILE_ARGUMENTS] = "argument_bytes",
    [COMPILE_OUTPUT] = "output_bytes",
    [COMPILE_SHARED] = "output_shared_bytes",
    [COMPILE_REQUIREMENT] = "requirement_bytes",
    [COMPILE_ROW_RESERVED] = "program_reserved_bytes",
    [COMPILE_ROW_GLOBAL] = "global_bytes",
    [COMPILE_ROW_SCOPED] = "scoped_bytes",
    [COMPILE_ROW_TEMP] = "temporary_bytes",
    [COMPILE_ROW_OVERLAYS] = "overlay_bytes",
    [COMPILE_UNPADDED] = "unpadded_bytes",
    [COMPILE_PADDED] = "padded_bytes",
    [COMPILE_FRAGMENTATION] = "fragmentation_bytes",
    [COMPILE_SPARSE_CORE] = "sparse_core_bytes",
    [COMPILE_GPU_REQUEST] = "requested_bytes",
    [COMPILE_GPU_PARAMETERS] = "argument_bytes",
    [COMPILE_GPU_CONSTANTS] = "constant_bytes",
    [COMPILE_GPU_LIVE_OUT] = "output_bytes",
    [COMPILE_GPU_TEMP] = "temporary_bytes",
    [COMPILE_GPU_FRAGMENTATION] = "fragmentation_bytes",
    [COMPILE_GPU_TOTAL] = "used_bytes",
    [COMPILE_GPU_TOTAL_FRAGMENTATION] = "total_fragmentation_bytes",
};

static const char *const forms[] = {[COMPILE_FORM_SECTIONS] = "sections",
                                    [COMPILE_FORM_ALLOCATION] = "allocation",
                                    [COMPILE_FORM_CORES] = "cores",
                                    [COMPILE_FORM_EARLY] = "early",
                                    [COMPILE_FORM_TEMPORARIES] = "temporaries",
                                    [COMPILE_FORM_ESTIMATE] = "estimate",
                                    [COMPILE_FORM_ASSIGNMENT] = "assignment",
                                    [COMPILE_FORM_GPU] = "gpu",
                                    [COMPILE_FORM_ENTRIES] = "list"};

static void add_text(struct writing *text, const char *key, const char *value)
{
    if (value[0] != '\0') {
        json_add_string(text, key, value);
    }
}

static void add_losses(struct writing *text, const struct compile_report *report)
{
    const struct compile_size missing = compile_report_missing(report);
    const struct compile_size padding = report_padding(report);
    if (compile_report_capacity(report) != 0) {
        json_add_number(text, "capacity_bytes", compile_report_capacity(report));
        json_add_boolean(text, "fits", !missing.is_said);
    }
    if (report->fragmentation.is_said) {
        json_add_fraction(text, "fragmentation", report->fragmentation.hundredths, 10000);
    }
    if (padding.is_said) {
        json_add_number(text, "padding_bytes", padding.range.nominal);
    }
    if (missing.is_said) {
        json_add_number(text, "missing_bytes", missing.range.nominal);
        json_add_boolean(text, "fits_without_fragmentation",
                         report_would_fit_without(&missing, report_fragmentation(report)));
        json_add_boolean(text, "fits_without_padding",
                         report_would_fit_without(&missing, &padding));
    }
}

static void append_report(const struct recording *recording, struct writing *text)
{
    const struct compile_report *report = recording->compile_report;
    json_open(text, "compile_report");
    json_add_string(text, "form", forms[report->form]);
    add_text(text, "module", report->module);
    for (int i = 0; i < COMPILE_NUMBER_COUNT; i++) {
        if (report->numbers[i].is_said) {
            json_add_number(text, keys[i], report->numbers[i].range.nominal);
        }
    }
    add_losses(text, report);
    add_text(text, "no_list", recording->why_no_list);
    json_close(text);
}

static void append_allocation(const struct compile_allocation *allocation, struct writing *text)
{
    json_open(text, "allocation");
    json_add_number(text, "size_bytes", allocation->size.nominal);
    if (allocation->unpadded.is_said) {
        json_add_number(text, "unpadded_bytes", allocation->unpadded.range.nominal);
    }
    if (allocation->shape_bytes != 0) {
        json_add_number(text, "shape_bytes", allocation->shape_bytes);
    }
    add_text(text, "shape", allocation->shape);
    add_text(text, "op", allocation->op);
    add_text(text, "source", allocation->source);
    add_text(text, "label", allocation->label);
    add_text(text, "allocation_type", allocation->type);
    json_add_boolean(text, "argument", allocation->is_argument);
    json_close(text);
}

static void append_cases(const struct compile_report *report, struct writing *text)
{
    struct report_cases cases;
    report_cases_find(report, &cases);
    for (size_t i = 0; i < cases.count; i++) {
        json_open(text, "case");
        json_add_string(text, "case", cases.items[i].name);
        json_add_string(text, "text", writing_string(&cases.items[i].text));
        json_close(text);
    }
    report_cases_deinit(&cases);
}

static void append_remarks(const char *remarks, struct writing *text)
{
    while (*remarks != '\0') {
        const size_t length = strcspn(remarks, "\n");
        struct writing line;
        writing_init(&line);
        writing_append_bytes(&line, remarks, length);
        json_open(text, "remark");
        json_add_string(text, "text", writing_string(&line));
        json_close(text);
        writing_deinit(&line);
        remarks += length + (remarks[length] == '\n' ? 1 : 0);
    }
}

void explain_report_in_json(const struct recording *recording, struct writing *text)
{
    const struct compile_report *report = recording->compile_report;
    append_report(recording, text);
    for (size_t i = 0; i < report->allocation_count; i++) {
        append_allocation(&report->allocations[i], text);
    }
    append_cases(report, text);
    append_remarks(report->remarks, text);
}
