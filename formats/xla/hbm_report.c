/* The format: finds the reports of a log, takes the first from which a run can be made, and says
 * how many there were.
 */
#include "formats/xla/private/hbm_report.h"

#include "formats/common/chip_named.h"
#include "formats/common/phrase.h"

#include <stdio.h>
#include <string.h>

/* Reports that are counted once there is a complete one: beyond it nobody reads the number. */
enum { REPORT_COUNT_MAX = 10000, QUOTE_BYTES = 300 };

/* A message of the runtime is 80 (tpu_message.c). */
enum { SCORE_MAX = 85, SCORE_BEHIND_MESSAGE = 70, SCORE_ESTIMATE = 20 };

/* Less than this behind a report may be an entry of its list that is cut before its size. */
enum { TAIL_BYTES_MAX = 256 };

/* Sections without their beginning may stand under a message of the runtime, which says more, and
 * reports on a core's scratchpad anywhere before it. */
static unsigned score_report(const struct hbm_report *report)
{
    if (report->form == COMPILE_FORM_ENTRIES) {
        return 30;
    }
    if (report->form == COMPILE_FORM_ESTIMATE) {
        return SCORE_ESTIMATE;
    }
    if (report->numbers[COMPILE_USED].is_said) {
        return hbm_report_missing(report, true) == NULL ? SCORE_MAX : 50;
    }
    return report->form == COMPILE_FORM_GPU || report->space[0] != '\0' ? 60 : 40;
}

/* The first message of the runtime from that byte on, by the sentence that each has.  False: there
 * is none. */
static bool find_message(const char *text, size_t length, size_t from, size_t *at)
{
    struct phrase_cursor cursor = {.text = text, .length = length, .at = from};
    while (!phrase_is_at_end(&cursor)) {
        cursor.at = phrase_next_beginning(text, length, cursor.at);
        struct phrase_cursor behind = cursor;
        if (phrase_peek(&cursor) == 'T' &&
            phrase_take(&behind, "That was not possible. There are")) {
            *at = cursor.at;
            return true;
        }
        cursor.at++;
    }
    return false;
}

static unsigned recognise_hbm_report(const char *text, size_t length)
{
    struct hbm_report report;
    size_t offset = 0;
    size_t end = 0; /* of the last report that can be told */
    size_t at = 0;
    unsigned best = 0;
    for (size_t i = 0;
         (i < REPORT_COUNT_MAX || best == 0) && hbm_report_next(text, length, &offset, &report);
         i++) {
        const unsigned score = score_report(&report);
        best = score > best ? score : best;
        end = score >= SCORE_MAX ? report.end : end;
    }
    if (best == 0 && hbm_report_find_temporaries(text, length, &report)) {
        best = score_report(&report);
        end = report.end;
    }
    const bool is_behind = best == SCORE_MAX && find_message(text, length, end, &at);
    return is_behind ? SCORE_BEHIND_MESSAGE : best;
}

/* The reports that a log holds. */
struct report_survey {
    struct hbm_report first; /* the first complete one; else the first */
    size_t count, complete_count;
    bool is_chip_named; /* the capacity is that of a chip that the log names */
};

/* Why the report becomes no run, or NULL.  A user may ask whether a program fits another device; a
 * chip that the log names is a guess, and wrong where the refused program fits. */
static const char *find_missing(const struct import_input *input,
                                const struct report_survey *survey, const struct hbm_report *report)
{
    const char *missing = hbm_report_missing(report, import_fixed_capacity(input->fixed, 0) != 0);
    return missing == NULL && survey->is_chip_named && hbm_report_fits(report, input->fixed)
               ? "the program fits the chip that the log names: give --chip or --capacity"
               : missing;
}

static void survey_log(const struct import_input *input, struct report_survey *survey)
{
    struct hbm_report report;
    size_t offset = 0;
    survey->count = survey->complete_count = 0;
    while ((survey->count < REPORT_COUNT_MAX || survey->complete_count == 0) &&
           hbm_report_next(input->text, input->length, &offset, &report)) {
        const bool is_complete = find_missing(input, survey, &report) == NULL;
        if (survey->count == 0 || (is_complete && survey->complete_count == 0) ||
            (survey->complete_count == 0 && !hbm_report_may_be_told(&survey->first))) {
            survey->first = report;
        }
        survey->count++;
        survey->complete_count += is_complete ? 1 : 0;
    }
}

static void note_report(const struct import_input *input, const struct report_survey *survey,
                        size_t line, struct import *import)
{
    char quoted[QUOTE_BYTES];
    const char *text = input->text + survey->first.begin;
    size_t length = 0; /* of its first line, or of what is said before its rows */
    while (length < survey->first.end - survey->first.begin && text[length] != '\n' &&
           text[length] != '\\') {
        length++;
    }
    phrase_print(text, length, quoted, sizeof quoted);
    import_note(import, "line %zu: %s", line, quoted);
    if (survey->count > 1) {
        import_note(
            import,
            "%zu%s reports in the log, %zu of them complete; this is the first complete one",
            survey->count, survey->count >= REPORT_COUNT_MAX ? " or more" : "",
            survey->complete_count);
    }
    if (survey->first.cut_count > 0) {
        import_note(
            import,
            "%zu entries of the report's lists are not used: they are cut off, or there are more than %d",
            survey->first.cut_count, HBM_REPORT_ENTRY_COUNT_MAX);
    }
    if (survey->first.has_list && input->text[input->length - 1] != '\n' &&
        input->length - survey->first.end < TAIL_BYTES_MAX) {
        import_note(
            import,
            "the last line has no line end: if it is cut, entries of the report's list are missing");
    }
}

/* Quotes the sentence that people see in front of the failure, in the text's own words. */
static void quote_report(const struct import_input *input, const struct hbm_report *report,
                         struct import *import)
{
    char quoted[IMPORT_MESSAGE_BYTES];
    phrase_print(input->text + report->sentence.at, report->sentence.length, quoted, sizeof quoted);
    size_t length = strlen(quoted);
    while (length > 0 && quoted[length - 1] == ' ') {
        length--;
    }
    import_quote(import, quoted, length, import_line_at(input->text, report->sentence.at));
}

void hbm_report_assume_message(const struct import_input *input, size_t at, struct import *import)
{
    struct hbm_report report;
    size_t offset = 0;
    while (offset < at && hbm_report_next(input->text, at, &offset, &report)) {
        if (score_report(&report) == SCORE_MAX) {
            import_assume(
                import,
                "the failure is the message of the runtime in line %zu, not the report of "
                "the compiler in line %zu, which is earlier",
                import_line_at(input->text, at), import_line_at(input->text, report.begin));
            return;
        }
    }
}

/* With a capacity that the log does not print but whose chip it names, the report is complete. */
static void fix_named_chip(const struct import_input *input, struct report_survey *survey,
                           struct setup *fixed, struct import *import)
{
    size_t at = 0, length = 0;
    if (survey->complete_count > 0 || survey->first.form == COMPILE_FORM_GPU ||
        !hbm_report_may_be_told(&survey->first) || import_fixed_capacity(input->fixed, 0) != 0) {
        return;
    }
    const struct chip *chip = chip_named(input->text, input->length, &at, &length);
    if (chip == NULL) {
        return;
    }
    survey->is_chip_named = true;
    *fixed = *input->fixed;
    snprintf(fixed->chip, sizeof fixed->chip, "%s", chip->name);
    import_assume(import,
                  "the capacity is that of chip %s, which the log names in line %zu: \"%.*s\"",
                  chip->name, import_line_at(input->text, at), (int)length, input->text + at);
}

/* Tells the report, and makes a list of it where that can be done. */
static enum import_result import_survey(const struct import_input *input,
                                        struct report_survey *survey, struct import *import,
                                        struct import_error *error)
{
    size_t at = 0;
    const struct hbm_report *report = &survey->first;
    const char *missing = survey->complete_count == 0 ? find_missing(input, survey, report) : NULL;
    if (missing != NULL) {
        if (hbm_report_may_be_told(report)) {
            quote_report(input, report, import);
            import->compile_report = hbm_report_tell(report, input);
        }
        return import_fail(error, IMPORT_INCOMPLETE, error->line, error->column, "%s", missing);
    }
    note_report(input, survey, error->line, import);
    quote_report(input, report, import);
    if (find_message(input->text, report->begin, 0, &at)) {
        /* A log may have failures of both kinds: which is told is an assumption. */
        import_assume(import,
                      "the failure is the report of the compiler in line %zu, not the message of "
                      "the runtime in line %zu, which is earlier",
                      error->line, import_line_at(input->text, at));
    }
    const enum import_result result = hbm_report_build(report, input, import, error);
    if (result == IMPORT_OK) {
        import->compile_report = hbm_report_tell(report, input);
    }
    return result;
}

static enum import_result import_hbm_report(const struct import_input *input, struct import *import,
                                            struct import_error *error)
{
    struct report_survey survey = {.is_chip_named = false};
    struct setup fixed;
    struct import_input with_chip = *input;
    survey_log(input, &survey);
    if (survey.count == 0 &&
        hbm_report_find_temporaries(input->text, input->length, &survey.first)) {
        survey.count = 1;
        survey.complete_count = hbm_report_missing(&survey.first, false) == NULL ? 1 : 0;
    }
    if (survey.count == 0) {
        return IMPORT_LACKS(error, "no report of the compiler on device memory in this text");
    }
    fix_named_chip(input, &survey, &fixed, import);
    if (survey.is_chip_named) {
        with_chip.fixed = &fixed;
        survey_log(&with_chip, &survey);
    }
    import_position(input->text, survey.first.begin, &error->line, &error->column);
    return import_survey(&with_chip, &survey, import, error);
}

const struct format format_hbm_report = {
    .name = "hbm_report",
    .summary = "what XLA prints when a program needs more memory than the device has, in any log",
    .recognise = recognise_hbm_report,
    .import = import_hbm_report,
};
