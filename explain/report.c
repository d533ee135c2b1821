/* A compiler's report in words. */
#include "explain/report.h"

#include "campaign/engine/output.h"
#include "explain/log.h"
#include "explain/private/explain_parts.h"
#include "explain/private/report_parts.h"
#include "harness/base/json.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <string.h>

enum { INDENT = 4, ALLOCATION_INDENT = 14, NEXT_INDENT = 2 };

static bool is_of_runtime(const struct compile_report *report)
{
    return report->form == COMPILE_FORM_GPU;
}

bool explain_report_is_told(const struct recording *recording)
{
    const struct compile_report *report = recording->compile_report;
    return report != NULL && (!is_of_runtime(report) || recording->why_no_list[0] != '\0');
}

/* --- what it is --- */

static void append_message(const struct recording *recording, struct writing *text)
{
    if (recording->message[0] == '\0') {
        return;
    }
    writing_append(text, "the file says");
    if (recording->message_line != 0) {
        writing_append_format(text, ", in line %zu", recording->message_line);
    }
    writing_append(text, ": ");
    writing_append_visible(text, recording->message);
    writing_append(text, "\n\n");
}

/* Sections without the sentence that they belong to. */
static bool has_no_beginning(const struct compile_report *report)
{
    return report->form == COMPILE_FORM_ENTRIES ||
           (report->form == COMPILE_FORM_SECTIONS && !report->numbers[COMPILE_USED].is_said);
}

static const char *find_meaning(const struct compile_report *report)
{
    static const char *const meanings[] = {
        [COMPILE_FORM_SECTIONS] =
            "The compiler refuses this program: it needs more memory than the "
            "device has.",
        [COMPILE_FORM_ALLOCATION] = "The compiler refuses this program: one allocation of it is "
                                    "larger than the memory.",
        [COMPILE_FORM_CORES] = "The compiler refuses this program: what its TensorCore and its "
                               "SparseCore use is more than the device has.",
        [COMPILE_FORM_EARLY] = "The compiler gives up on this program early: by its estimate it "
                               "needs more memory than the device has.",
        [COMPILE_FORM_TEMPORARIES] =
            "The compiler refuses this program: its temporaries alone need "
            "more memory than the device has. The arguments come on top.",
        [COMPILE_FORM_ESTIMATE] = "This is the compiler's estimate of a program, and no failure.",
        [COMPILE_FORM_GPU] = "A program could not run: the runtime refused a buffer of it. The "
                             "compiler planned its buffers as below.",
        [COMPILE_FORM_ASSIGNMENT] = "This is XLA's plan of a compiled program's buffers, and no "
                                    "failure.",
        [COMPILE_FORM_ENTRIES] =
            "This is a part of a compiler's report: its beginning is not here."};
    return has_no_beginning(report) ? meanings[COMPILE_FORM_ENTRIES] : meanings[report->form];
}

static void append_meaning(const struct compile_report *report, struct writing *text)
{
    wrap_append(text, find_meaning(report), 0, screen_columns());
    writing_append(text, "\n");
    if (!compile_report_has_assignment(report) && report->form != COMPILE_FORM_ESTIMATE &&
        !has_no_beginning(report)) {
        writing_append(text,
                       "Nothing ran: no allocator refused a request, so there is no promise to "
                       "judge.\n");
    }
    if (report->module[0] != '\0') {
        writing_append(text, "The program: ");
        writing_append_visible(text, report->module);
        writing_append(text, "\n");
    }
}

/* --- what the total consists of --- */

struct sum_row {
    const char *name;
    enum compile_number number;
    const char *remark;
};

static const struct sum_row tpu_rows[] = {
    {"program", COMPILE_PROGRAM, ""},
    {"program", COMPILE_REQUIREMENT, ""}, /* where the section on the total is not there */
    {"  temporaries (HLO temp)", COMPILE_ROW_TEMP, ""},
    {"  global", COMPILE_ROW_GLOBAL, ""},
    {"  scoped", COMPILE_ROW_SCOPED, ""},
    {"  overlays", COMPILE_ROW_OVERLAYS, ""},
    {"  reserved", COMPILE_ROW_RESERVED, ""},
    {"arguments", COMPILE_ARGUMENTS, ""},
    {"outputs", COMPILE_OUTPUT, ""},
    {"SparseCore", COMPILE_SPARSE_CORE, ""},
};
static const struct sum_row gpu_rows[] = {
    {"parameters", COMPILE_GPU_PARAMETERS, ""},
    {"constants", COMPILE_GPU_CONSTANTS, ""},
    {"results (maybe_live_out)", COMPILE_GPU_LIVE_OUT, "those that are parameters count once"},
    {"temporaries (preallocated)", COMPILE_GPU_TEMP, "in one piece"},
    {"in all", COMPILE_GPU_TOTAL, ""},
    {"the refused buffer", COMPILE_GPU_REQUEST, ""},
};

static void append_row(struct writing *text, const char *name, uint64_t bytes, const char *remark)
{
    char size[SIZE_TEXT_BYTES];
    size_print_field(bytes, size);
    writing_append_format(text, "  %-28s %9s%s%s\n", name, size, remark[0] != '\0' ? "  " : "",
                          remark);
}

/* What stands behind "outputs". */
static void print_sharing(const struct compile_report *report, char *remark, size_t room)
{
    char shared[SIZE_TEXT_BYTES];
    const struct compile_size *size = &report->numbers[COMPILE_SHARED];
    remark[0] = '\0';
    if (size->is_said) {
        size_print_field(size->range.nominal, shared);
        snprintf(remark, room, "%s of them in the memory of arguments (donated)", shared);
    }
}

static void append_rows(const struct compile_report *report, struct writing *text)
{
    const bool is_gpu = compile_report_has_assignment(report);
    const struct sum_row *rows = is_gpu ? gpu_rows : tpu_rows;
    const size_t count = is_gpu ? sizeof gpu_rows / sizeof *rows : sizeof tpu_rows / sizeof *rows;
    const struct compile_size *numbers = report->numbers;
    for (size_t i = 0; i < count; i++) {
        char remark[96];
        const bool is_twice = rows[i].number == COMPILE_REQUIREMENT &&
                              numbers[COMPILE_PROGRAM].is_said;
        if (!numbers[rows[i].number].is_said || is_twice) {
            continue;
        }
        snprintf(remark, sizeof remark, "%s", rows[i].remark);
        if (rows[i].number == COMPILE_OUTPUT) {
            print_sharing(report, remark, sizeof remark);
        }
        append_row(text, rows[i].name, numbers[rows[i].number].range.nominal, remark);
    }
    if (report->form == COMPILE_FORM_SECTIONS && numbers[COMPILE_TOTAL].is_said &&
        !numbers[COMPILE_ARGUMENTS].is_said) {
        writing_append_format(text, "  %-28s %9s\n", "arguments", "unknown");
    }
}

static const char *find_used_name(const struct compile_report *report)
{
    return report->form == COMPILE_FORM_CORES        ? "TensorCore"
           : report->form == COMPILE_FORM_ALLOCATION ? "the allocation"
                                                     : "in all";
}

/* What is kept for the system: until 2020 it is part of what is used. */
static void append_reserved(const struct compile_report *report, struct writing *text)
{
    const struct compile_size *numbers = report->numbers;
    const struct size_range *total = &numbers[COMPILE_TOTAL].range;
    const struct size_range *used = &numbers[COMPILE_USED].range;
    if (numbers[COMPILE_RESERVED].is_said) {
        const bool is_counted = numbers[COMPILE_USED].is_said && total->low == used->low &&
                                total->high == used->high;
        append_row(text, "reserved for the system", numbers[COMPILE_RESERVED].range.nominal,
                   is_counted ? "part of the above" : "apart from the above");
    }
}

static void append_device(const struct recording *recording, struct writing *text)
{
    const struct compile_report *report = recording->compile_report;
    const uint64_t capacity_bytes = compile_report_capacity(report);
    const struct compile_size missing = compile_report_missing(report);
    char remark[SETUP_NAME_BYTES + 32] = "";
    if (capacity_bytes == 0) {
        writing_append(text, "  The report does not say how much memory the device has: --chip or "
                             "--capacity gives it.\n");
        return;
    }
    const char *chip = recording->setup.chip[0] != '\0' ? recording->setup.chip : report->chip;
    if (chip[0] != '\0') {
        snprintf(remark, sizeof remark, "chip %s", chip);
    } else if (report->given_capacity_bytes != 0) {
        snprintf(remark, sizeof remark, "as given");
    }
    append_row(text, "the device has", capacity_bytes, remark);
    if (missing.is_said) {
        append_row(text, "missing", missing.range.nominal, "");
    } else if (report->form != COMPILE_FORM_ENTRIES) {
        writing_append(text, "  It fits there.\n");
    }
}

static void append_sums(const struct recording *recording, struct writing *text)
{
    const struct compile_report *report = recording->compile_report;
    writing_append(text, "\nWhat the program needs\n");
    append_rows(report, text);
    if (report->numbers[COMPILE_USED].is_said && report->form != COMPILE_FORM_TEMPORARIES) {
        append_row(text, find_used_name(report), report->numbers[COMPILE_USED].range.nominal, "");
    }
    append_device(recording, text);
    append_reserved(report, text);
}

/* --- what of it is lost --- */

/* ", 35.7 %". */
static void append_percent(struct writing *text, uint64_t part, uint64_t whole)
{
    const uint64_t tenths = whole == 0 ? 0
                                       : (uint64_t)((double)part * 1000.0 / (double)whole + 0.5);
    writing_append_format(text, ", %" PRIu64 ".%" PRIu64 " %%", tenths / 10, tenths % 10);
}

static void append_without(struct writing *text, const struct compile_report *report,
                           const struct compile_size *lost)
{
    const struct compile_size missing = compile_report_missing(report);
    if (!missing.is_said) {
        writing_append(text, ".\n");
        return;
    }
    if (report_would_fit_without(&missing, lost)) {
        writing_append(text, ". Without it the program would fit: ");
        report_append_size(text, missing.range.nominal);
        writing_append(text, missing.range.nominal == 1 ? " is missing.\n" : " are missing.\n");
    } else if (lost->range.high < missing.range.low) {
        writing_append(text, ". Without it ");
        report_append_size(text, missing.range.nominal - lost->range.nominal);
        writing_append(text, " would still be missing.\n");
    } else {
        writing_append(text, ": about as much as is missing.\n");
    }
}

static void append_loss(struct writing *text, const struct compile_report *report, const char *name,
                        const struct compile_size *lost)
{
    const uint64_t whole = report_temporaries(report)->range.nominal;
    if (!lost->is_said) {
        return;
    }
    writing_append_format(text, "  %s: ", name);
    report_append_size(text, lost->range.nominal);
    append_percent(text, lost->range.nominal, whole);
    writing_append(text, " of the temporaries");
    if (lost->range.nominal == 0) {
        writing_append(text, ".\n");
        return;
    }
    append_without(text, report, lost);
}

static void append_losses(const struct compile_report *report, struct writing *text)
{
    const struct compile_size padding = report_padding(report);
    const struct compile_size *fragmentation = report_fragmentation(report);
    if (!padding.is_said && !fragmentation->is_said) {
        return;
    }
    writing_append(text, "\nWhat of it is lost\n");
    append_loss(text, report, "fragmentation", fragmentation);
    append_loss(text, report,
                report->numbers[COMPILE_PADDED].is_said ? "padding" : "padding (about)", &padding);
}

/* --- the list --- */

static void append_line(struct writing *text, const char *name, const char *value)
{
    if (value[0] == '\0') {
        return;
    }
    writing_append_format(text, "%*s%s", ALLOCATION_INDENT, "", name);
    writing_append_visible(text, value);
    writing_append(text, "\n");
}

/* "unpadded 1.00G, 32.0-fold: its innermost dimension of 4 is padded to 128". */
static void append_padding(const struct compile_allocation *allocation, struct writing *text)
{
    const uint64_t size_bytes = allocation->size.nominal;
    const uint64_t unpadded_bytes = allocation->unpadded.range.nominal;
    if (!allocation->unpadded.is_said || !allocation->padding.is_said || unpadded_bytes == 0) {
        return;
    }
    writing_append_format(text, "%*sunpadded ", ALLOCATION_INDENT, "");
    report_append_size(text, unpadded_bytes);
    writing_append_format(text, ", %.1f-fold", (double)size_bytes / (double)unpadded_bytes);
    report_append_innermost(text, allocation);
    writing_append(text, "\n");
}

static void append_allocation(const struct compile_allocation *allocation, size_t number,
                              struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    size_print_field(allocation->size.nominal, size);
    writing_append_format(text, "  %3zu %9s", number, size);
    writing_append(text, allocation->shape[0] != '\0' ? "  " : "");
    writing_append_visible(text, allocation->shape);
    if (allocation->type[0] != '\0' || allocation->is_argument) {
        writing_append(text, "  ");
        writing_append_visible(text,
                               allocation->is_argument ? "argument or output" : allocation->type);
    }
    writing_append(text, "\n");
    append_padding(allocation, text);
    append_line(text, "op ", allocation->op);
    append_line(text, "at ", allocation->source);
    append_line(text, "made by ", allocation->label);
}

static void append_list(const struct compile_report *report, struct writing *text)
{
    uint64_t sum = 0;
    if (report->allocation_count == 0) {
        return;
    }
    for (size_t i = 0; i < report->allocation_count; i++) {
        sum += report->allocations[i].size.nominal;
    }
    writing_append_format(text, "\nLargest allocations: %zu", report->allocation_count);
    if (report->form != COMPILE_FORM_ASSIGNMENT) { /* whose values share their bytes */
        writing_append(text, ", ");
        report_append_size(text, sum);
    }
    writing_append(text, "\n");
    for (size_t i = 0; i < report->allocation_count; i++) {
        append_allocation(&report->allocations[i], i + 1, text);
    }
}

/* --- what the numbers say --- */

static void append_paragraph(struct writing *text, const char *paragraph)
{
    struct writing visible;
    writing_init(&visible);
    writing_append_visible(&visible, paragraph);
    writing_append(text, "  - ");
    wrap_append(text, writing_string(&visible), INDENT, screen_columns());
    writing_append(text, "\n");
    writing_deinit(&visible);
}

static void append_cases(const struct compile_report *report, struct writing *text)
{
    struct report_cases cases;
    report_cases_find(report, &cases);
    if (cases.count > 0) {
        writing_append(text, "\nWhat the numbers say");
        writing_append(text, compile_report_has_assignment(report)
                                 ? "\n"
                                 : " (https://openxla.org/xla/errors/error_1000)\n");
    }
    for (size_t i = 0; i < cases.count; i++) {
        append_paragraph(text, writing_string(&cases.items[i].text));
    }
    report_cases_deinit(&cases);
}

static void append_remarks(const char *remarks, struct writing *text)
{
    if (remarks[0] != '\0') {
        writing_append(text, "\nWhere the report is not whole, or does not agree with itself\n");
    }
    while (*remarks != '\0') {
        struct writing line;
        const size_t length = strcspn(remarks, "\n");
        writing_init(&line);
        writing_append_bytes(&line, remarks, length);
        append_paragraph(text, writing_string(&line));
        writing_deinit(&line);
        remarks += length + (remarks[length] == '\n' ? 1 : 0);
    }
}

/* What to do, of the case that decides: what alone makes it fit, before what is merely large. */
static const char *find_next(const struct compile_report *report, const struct report_cases *cases)
{
    static const struct {
        const char *name; /* of a case */
        const char *next;
    } steps[] = {
        {"arguments",
         "shard the parameters and the optimizer state over more devices: no flag of the "
         "compiler makes arguments fit that are larger than the device"},
        {"fragmentation",
         "compile again with another order of the ops, as said above: the gaps alone "
         "are more than what is missing"},
        {"padding",
         "change the shape or the layout of the allocation named above, and compile again"},
        {"flags", "set the flags above in LIBTPU_INIT_ARGS, and compile again: little is missing"},
        {"one_allocation",
         "go to the op and the line of the allocation named above: shard it, split "
         "its batch or compute it in parts, and compile again"},
        {"cores", "shrink the larger part, as said above, and compile again"},
        {"donation", "donate the arguments that are not needed afterwards (donate_argnums), and "
                     "compile again"},
        {"balance", "make the larger part smaller, as said above, and compile again"},
        {"aggregate",
         "recompute activations (jax.checkpoint) or run a smaller batch on each device, "
         "and compile again"},
    };
    if (has_no_beginning(report)) {
        return "give explain the log from \"Ran out of memory\" on: the used bytes and the capacity "
               "stand at the beginning";
    }
    if (report->form == COMPILE_FORM_EARLY) {
        return "compile again with --xla_tpu_impure_oom_fast_exit_threshold=-1, and give explain the "
               "list of allocations that it prints";
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (size_t j = 0; j < cases->count; j++) {
            if (strcmp(cases->items[j].name, steps[i].name) == 0) {
                return steps[i].next;
            }
        }
    }
    return "dump the program's buffers with XLA_FLAGS=--xla_dump_to=DIR, and give explain the file "
           "of DIR whose name ends in buffer-assignment.txt";
}

/* The last line.  An estimate, a plan and what fits need nothing. */
static void append_next(const struct compile_report *report, bool is_json, struct writing *text)
{
    struct report_cases cases;
    const bool is_plan = report->form == COMPILE_FORM_ESTIMATE ||
                         report->form == COMPILE_FORM_ASSIGNMENT;
    const bool fits = compile_report_capacity(report) != 0 &&
                      !compile_report_missing(report).is_said;
    if (is_plan || (fits && !has_no_beginning(report))) {
        return;
    }
    report_cases_find(report, &cases);
    const char *next = find_next(report, &cases);
    if (is_json) {
        json_open(text, "next");
        json_add_string(text, "text", next);
        json_close(text);
    } else {
        struct writing words;
        writing_init(&words);
        writing_append_format(&words, "Next: %s.", next);
        writing_append(text, "\n");
        wrap_append(text, writing_string(&words), NEXT_INDENT, screen_columns());
        writing_append(text, "\n");
        writing_deinit(&words);
    }
    report_cases_deinit(&cases);
}

void explain_report_in_words(const struct recording *recording, struct writing *text)
{
    const struct compile_report *report = recording->compile_report;
    append_sums(recording, text);
    append_losses(report, text);
    append_list(report, text);
    append_cases(report, text);
    append_remarks(report->remarks, text);
}

/* --- all of it --- */

/* The line that every explanation begins with. */
static void append_explanation(const struct recording *recording, struct writing *text)
{
    json_open(text, "explanation");
    json_add_string(text, "verdict", verdict_name(VERDICT_NONE));
    json_add_string(text, "reason", find_meaning(recording->compile_report));
    if (recording->message[0] != '\0') {
        json_add_string(text, "file_message", recording->message);
        json_add_number(text, "file_line", recording->message_line);
    }
    json_close(text);
}

static enum exit_code print(const struct explain_options *options, const struct writing *text,
                            enum exit_code code)
{
    struct output output;
    output_init(&output, options->is_json);
    output_line(&output, text);
    output_text(&output, text);
    output_flush(&output);
    return output.is_failed ? EXIT_HARNESS : code;
}

void explain_report_append(const struct explain_options *options, const struct recording *recording,
                           struct writing *text)
{
    struct explanation explanation = {
        .options = options, .recording = recording, .is_json = options->is_json};
    writing_init(&explanation.text);
    explain_log(&recording->story, explanation.is_json, &explanation.text);
    if (explanation.is_json) {
        append_explanation(recording, &explanation.text);
        explain_report_in_json(recording, &explanation.text);
    } else {
        append_message(recording, &explanation.text);
        append_meaning(recording->compile_report, &explanation.text);
        explain_report_in_words(recording, &explanation.text);
    }
    explain_assumed(&explanation);
    append_next(recording->compile_report, explanation.is_json, &explanation.text);
    if (!explanation.is_json) {
        wrap_answer(&explanation.text, 0);
    }
    writing_append_bytes(text, explanation.text.bytes, explanation.text.length);
    writing_deinit(&explanation.text);
}

enum exit_code explain_report(const struct explain_options *options,
                              const struct recording *recording)
{
    struct writing text;
    writing_init(&text);
    explain_report_append(options, recording, &text);
    const enum exit_code code = print(options, &text, EXIT_KEPT);
    writing_deinit(&text);
    return code;
}

enum exit_code explain_report_after(const struct explain_options *options,
                                    const struct recording *recording, enum exit_code code)
{
    struct writing text;
    if (recording->compile_report == NULL || code == EXIT_HARNESS || code == EXIT_USAGE) {
        return code;
    }
    writing_init(&text);
    if (options->is_json) {
        explain_report_in_json(recording, &text);
    } else {
        explain_report_in_words(recording, &text);
        wrap_answer(&text, 0);
    }
    code = print(options, &text, code);
    writing_deinit(&text);
    return code;
}
