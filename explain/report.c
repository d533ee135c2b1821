/* A compiler's report: what the program needs, what of it is lost, the largest allocations, and
 * what the numbers say. */
#include "explain/private/explanation.h"
#include "explain/private/files.h"

#include <inttypes.h>
#include <string.h>

enum { INDENT = 4, NOTE_BYTES = 96 };

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

/* Sections without the sentence that they belong to. */
static bool has_no_beginning(const struct compile_report *report)
{
    return report->form == COMPILE_FORM_ENTRIES ||
           (report->form == COMPILE_FORM_SECTIONS && !report->numbers[COMPILE_USED].is_said);
}

/* The forms; `form` for JSON, and what they mean. */
static const struct form {
    const char *form, *meaning;
} forms[] = {
    [COMPILE_FORM_SECTIONS] =
        {"sections",
         "The compiler refuses this program: it needs more memory than the device has."},
    [COMPILE_FORM_ALLOCATION] =
        {"allocation",
         "The compiler refuses this program: one allocation of it is larger than the memory."},
    [COMPILE_FORM_CORES] =
        {"cores",
         "The compiler refuses this program: what its TensorCore and its SparseCore use is more than the device has."},
    [COMPILE_FORM_EARLY] =
        {"early",
         "The compiler gives up on this program early: by its estimate it needs more memory than the device has."},
    [COMPILE_FORM_TEMPORARIES] =
        {"temporaries",
         "The compiler refuses this program: its temporaries alone need more memory than the device has. The arguments come on top."},
    [COMPILE_FORM_ESTIMATE] = {"estimate",
                               "This is the compiler's estimate of a program, and no failure."},
    [COMPILE_FORM_GPU] =
        {"gpu",
         "A program could not run: the runtime refused a buffer of it. The compiler planned its buffers as below."},
    [COMPILE_FORM_ASSIGNMENT] =
        {"assignment", "This is XLA's plan of a compiled program's buffers, and no failure."},
    [COMPILE_FORM_ENTRIES] = {"list",
                              "This is a part of a compiler's report: its beginning is not here."},
};

static const char *find_meaning(const struct compile_report *report)
{
    return forms[has_no_beginning(report) ? COMPILE_FORM_ENTRIES : report->form].meaning;
}

static void say_meaning(struct facts *facts, const struct recording *recording)
{
    const struct compile_report *report = recording->compile_report;
    if (recording->message[0] != '\0') {
        explain_say_message(facts, recording);
        facts_line(facts, "%s", "");
    }
    facts_say(facts, "", 0, "%s", find_meaning(report));
    if (!compile_report_has_assignment(report) && report->form != COMPILE_FORM_ESTIMATE &&
        !has_no_beginning(report)) {
        facts_answer(facts,
                     "Nothing ran: no allocator refused a request, so there is no promise to "
                     "judge.");
    }
    if (report->module[0] != '\0') {
        facts_answer(facts, "The program: %s", report->module);
    }
}

/* --- what the total consists of --- */

struct sum_row {
    const char *name;
    enum compile_number number;
    const char *note;
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

static void say_row(struct facts *facts, const char *name, uint64_t bytes, const char *note)
{
    facts_answer(facts, "  %-28s %9s%s%s", name, size_text_of(bytes).text,
                 note[0] != '\0' ? "  " : "", note);
}

static void say_rows(struct facts *facts, const struct compile_report *report)
{
    const bool is_gpu = compile_report_has_assignment(report);
    const struct sum_row *rows = is_gpu ? gpu_rows : tpu_rows;
    const size_t count = is_gpu ? sizeof gpu_rows / sizeof *rows : sizeof tpu_rows / sizeof *rows;
    const struct compile_size *numbers = report->numbers;
    const struct compile_size *shared = &numbers[COMPILE_SHARED];
    for (size_t i = 0; i < count; i++) {
        char note[NOTE_BYTES];
        const bool is_twice = rows[i].number == COMPILE_REQUIREMENT &&
                              numbers[COMPILE_PROGRAM].is_said;
        if (!numbers[rows[i].number].is_said || is_twice) {
            continue;
        }
        snprintf(note, sizeof note, "%s", rows[i].note);
        if (rows[i].number == COMPILE_OUTPUT && shared->is_said) {
            snprintf(note, sizeof note, "%s of them in the memory of arguments (donated)",
                     size_text_of(shared->range.nominal).text);
        }
        say_row(facts, rows[i].name, numbers[rows[i].number].range.nominal, note);
    }
    if (report->form == COMPILE_FORM_SECTIONS && numbers[COMPILE_TOTAL].is_said &&
        !numbers[COMPILE_ARGUMENTS].is_said) {
        facts_answer(facts, "  %-28s %9s", "arguments", "unknown");
    }
}

static const char *find_used_name(const struct compile_report *report)
{
    return report->form == COMPILE_FORM_CORES        ? "TensorCore"
           : report->form == COMPILE_FORM_ALLOCATION ? "the allocation"
                                                     : "in all";
}

static void say_device(struct facts *facts, const struct recording *recording)
{
    const struct compile_report *report = recording->compile_report;
    const uint64_t capacity_bytes = compile_report_capacity(report);
    const struct compile_size missing = compile_report_missing(report);
    const char *chip = recording->setup.chip[0] != '\0' ? recording->setup.chip : report->chip;
    char note[SETUP_NAME_BYTES + 32] = "";
    if (capacity_bytes == 0) {
        facts_answer(facts, "  The report does not say how much memory the device has: --chip or "
                            "--capacity gives it.");
        return;
    }
    if (chip[0] != '\0') {
        snprintf(note, sizeof note, "chip %s", chip);
    } else if (report->given_capacity_bytes != 0) {
        snprintf(note, sizeof note, "as given");
    }
    say_row(facts, "the device has", capacity_bytes, note);
    if (missing.is_said) {
        say_row(facts, "missing", missing.range.nominal, "");
    } else if (report->form != COMPILE_FORM_ENTRIES) {
        facts_answer(facts, "  It fits there.");
    }
}

/* What is kept for the system is until 2020 part of what is used. */
static void say_sums(struct facts *facts, const struct recording *recording)
{
    const struct compile_report *report = recording->compile_report;
    const struct compile_size *used = &report->numbers[COMPILE_USED];
    const struct compile_size *reserved = &report->numbers[COMPILE_RESERVED];
    const struct size_range *total = &report->numbers[COMPILE_TOTAL].range;
    facts_heading(facts, "What the program needs");
    say_rows(facts, report);
    if (used->is_said && report->form != COMPILE_FORM_TEMPORARIES) {
        say_row(facts, find_used_name(report), used->range.nominal, "");
    }
    say_device(facts, recording);
    if (reserved->is_said) {
        const bool is_counted = used->is_said && total->low == used->range.low &&
                                total->high == used->range.high;
        say_row(facts, "reserved for the system", reserved->range.nominal,
                is_counted ? "part of the above" : "apart from the above");
    }
}

/* --- what of it is lost --- */

/* ". Without it …": whether the program would fit. */
static void append_without(struct writing *words, const struct compile_report *report,
                           const struct compile_size *lost)
{
    const struct compile_size missing = compile_report_missing(report);
    const uint64_t bytes = missing.range.nominal;
    if (!missing.is_said || lost->range.nominal == 0) {
        writing_append(words, ".");
    } else if (report_would_fit_without(&missing, lost)) {
        writing_append_format(words, ". Without it the program would fit: %s %s missing.",
                              size_text_of(bytes).text, plural(bytes, "is", "are"));
    } else if (lost->range.high < missing.range.low) {
        writing_append_format(words, ". Without it %s would still be missing.",
                              size_text_of(bytes - lost->range.nominal).text);
    } else {
        writing_append(words, ": about as much as is missing.");
    }
}

/* "fragmentation: 2.00G, 35.7 % of the temporaries". */
static void say_loss(struct facts *facts, const struct compile_report *report, const char *name,
                     const struct compile_size *lost)
{
    const uint64_t whole = report_temporaries(report)->range.nominal;
    const uint64_t part = lost->range.nominal;
    const uint64_t tenths = whole == 0 ? 0
                                       : (uint64_t)((double)part * 1000.0 / (double)whole + 0.5);
    struct writing words = {0};
    if (!lost->is_said) {
        return;
    }
    append_without(&words, report, lost);
    facts_answer(facts, "  %s: %s, %" PRIu64 ".%" PRIu64 " %% of the temporaries%s", name,
                 size_text_of(part).text, tenths / 10, tenths % 10, writing_string(&words));
    writing_deinit(&words);
}

static void say_losses(struct facts *facts, const struct compile_report *report)
{
    const struct compile_size padding = report_padding(report);
    const struct compile_size *fragmentation = report_fragmentation(report);
    if (padding.is_said || fragmentation->is_said) {
        facts_heading(facts, "What of it is lost");
    }
    say_loss(facts, report, "fragmentation", fragmentation);
    say_loss(facts, report, report->numbers[COMPILE_PADDED].is_said ? "padding" : "padding (about)",
             &padding);
}

/* --- the record of the report --- */

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

static void add_report(struct facts *facts, const struct recording *recording)
{
    const struct compile_report *report = recording->compile_report;
    const struct compile_size missing = compile_report_missing(report);
    const struct compile_size padding = report_padding(report);
    facts_open(facts, "compile_report");
    facts_text(facts, "form", forms[report->form].form);
    facts_text_if(facts, "module", report->module);
    for (int i = 0; i < COMPILE_NUMBER_COUNT; i++) {
        if (report->numbers[i].is_said) {
            facts_size(facts, keys[i], report->numbers[i].range.nominal);
        }
    }
    if (compile_report_capacity(report) != 0) {
        facts_size(facts, "capacity_bytes", compile_report_capacity(report));
        facts_boolean(facts, "fits", !missing.is_said);
    }
    if (report->fragmentation.is_said) {
        facts_share(facts, "fragmentation", report->fragmentation.hundredths, 10000);
    }
    if (padding.is_said) {
        facts_size(facts, "padding_bytes", padding.range.nominal);
    }
    if (missing.is_said) {
        facts_size(facts, "missing_bytes", missing.range.nominal);
        facts_boolean(facts, "fits_without_fragmentation",
                      report_would_fit_without(&missing, report_fragmentation(report)));
        facts_boolean(facts, "fits_without_padding", report_would_fit_without(&missing, &padding));
    }
    facts_text_if(facts, "no_list", recording->why_no_list);
    facts_close(facts);
}

/* --- the list --- */

/* Below the first line of an allocation. */
static void say_value(struct facts *facts, const char *name, const char *value)
{
    if (value[0] != '\0') {
        facts_answer(facts, "              %s%s", name, value);
    }
}

/* "unpadded 1.00G, 32.0-fold: its innermost dimension of 4 is padded to 128". */
static void say_padding(struct facts *facts, const struct compile_allocation *allocation)
{
    const uint64_t size_bytes = allocation->size.nominal;
    const uint64_t unpadded_bytes = allocation->unpadded.range.nominal;
    if (allocation->unpadded.is_said && allocation->padding.is_said && unpadded_bytes != 0) {
        facts_answer(facts, "              unpadded %s, %.1f-fold%s",
                     size_text_of(unpadded_bytes).text, (double)size_bytes / (double)unpadded_bytes,
                     report_innermost(allocation).text);
    }
}

static void tell_allocation(struct facts *facts, const struct compile_allocation *allocation,
                            size_t number)
{
    const char *type = allocation->is_argument ? "argument or output" : allocation->type;
    facts_open(facts, "allocation");
    facts_size(facts, "size_bytes", allocation->size.nominal);
    if (allocation->unpadded.is_said) {
        facts_size(facts, "unpadded_bytes", allocation->unpadded.range.nominal);
    }
    if (allocation->shape_bytes != 0) {
        facts_size(facts, "shape_bytes", allocation->shape_bytes);
    }
    facts_text_if(facts, "shape", allocation->shape);
    facts_answer(facts, "  %3zu %9s%s%s%s%s", number, size_text_of(allocation->size.nominal).text,
                 allocation->shape[0] != '\0' ? "  " : "", allocation->shape,
                 type[0] != '\0' ? "  " : "", type);
    say_padding(facts, allocation);
    facts_text_if(facts, "op", allocation->op);
    say_value(facts, "op ", allocation->op);
    facts_text_if(facts, "source", allocation->source);
    say_value(facts, "at ", allocation->source);
    facts_text_if(facts, "label", allocation->label);
    say_value(facts, "made by ", allocation->label);
    facts_text_if(facts, "allocation_type", allocation->type);
    facts_boolean(facts, "argument", allocation->is_argument);
    facts_close(facts);
}

static void tell_list(struct facts *facts, const struct compile_report *report)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < report->allocation_count; i++) {
        sum += report->allocations[i].size.nominal;
    }
    if (report->form == COMPILE_FORM_ASSIGNMENT && report->allocation_count > 0) {
        /* whose values share their bytes */
        facts_heading(facts, "Largest allocations: %zu", report->allocation_count);
    } else if (report->allocation_count > 0) {
        facts_heading(facts, "Largest allocations: %zu, %s", report->allocation_count,
                      size_text_of(sum).text);
    }
    for (size_t i = 0; i < report->allocation_count; i++) {
        tell_allocation(facts, &report->allocations[i], i + 1);
    }
}

/* --- what the numbers say --- */

static void tell_cases(struct facts *facts, const struct compile_report *report)
{
    struct report_cases cases;
    report_cases_find(report, &cases);
    if (cases.count > 0) {
        facts_heading(facts, "What the numbers say%s",
                      compile_report_has_assignment(report)
                          ? ""
                          : " (https://openxla.org/xla/errors/error_1000)");
    }
    for (size_t i = 0; i < cases.count; i++) {
        const char *text = writing_string(&cases.items[i].text);
        facts_open(facts, "case");
        facts_text(facts, "case", cases.items[i].name);
        facts_text(facts, "text", text);
        facts_close(facts);
        facts_say(facts, "  - ", INDENT, "%s", text);
    }
    report_cases_deinit(&cases);
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
static void tell_next(struct facts *facts, const struct compile_report *report)
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
    explain_say_next(facts, find_next(report, &cases));
    report_cases_deinit(&cases);
}

/* --- all of it --- */

void explain_report_after(struct facts *facts, const struct recording *recording)
{
    const struct compile_report *report = recording->compile_report;
    add_report(facts, recording);
    say_sums(facts, recording);
    say_losses(facts, report);
    tell_list(facts, report);
    tell_cases(facts, report);
    explain_lines(facts, "Where the report is not whole, or does not agree with itself", "remark",
                  report->remarks);
}

void explain_report(struct facts *facts, const struct recording *recording)
{
    explain_log(facts, &recording->story);
    facts_open(facts, "explanation"); /* the line that every explanation begins with */
    facts_text(facts, "verdict", verdict_name(VERDICT_NONE));
    facts_text(facts, "reason", find_meaning(recording->compile_report));
    if (recording->message[0] != '\0') {
        facts_text(facts, "file_message", recording->message);
        facts_count(facts, "file_line", recording->message_line);
    }
    facts_close(facts);
    say_meaning(facts, recording);
    explain_report_after(facts, recording);
    explain_lines(facts, EXPLAIN_ASSUMED_HEADING, "assumed", recording->assumed);
    tell_next(facts, recording->compile_report);
}
