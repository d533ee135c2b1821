/* The format: finds the reports of a log, takes the first from which a run can be made, and says
 * how many there were.
 */
#include "formats/xla/private/hbm_report.h"
#include "formats/common/phrase.h"

#include <string.h>

/* Reports that are counted once there is a complete one: beyond it nobody reads the number. */
enum { REPORT_COUNT_MAX = 10000, QUOTE_BYTES = 300 };

enum { SCORE_MAX = 85 };

/* Less than this behind a report may be an entry of its list that is cut before its size. */
enum { TAIL_BYTES_MAX = 256 };

/* Sections without their beginning may stand under a message of the runtime, which says more, and
 * reports on a core's scratchpad anywhere before it. */
static unsigned score_report(const struct hbm_report *report)
{
    if (report->form == HBM_REPORT_ENTRIES) {
        return 30;
    }
    if (report->numbers[HBM_USED].is_said) {
        return hbm_report_missing(report, true) == NULL ? SCORE_MAX : 50;
    }
    return report->form == HBM_REPORT_GPU || report->space[0] != '\0' ? 60 : 40;
}

static unsigned recognise_hbm_report(const char *text, size_t length)
{
    struct hbm_report report;
    size_t offset = 0;
    unsigned best = 0;
    for (size_t i = 0; i < REPORT_COUNT_MAX && best < SCORE_MAX &&
                       hbm_report_next(text, length, &offset, &report);
         i++) {
        best = score_report(&report) > best ? score_report(&report) : best;
    }
    return best;
}

/* What a log holds. */
struct survey {
    struct hbm_report first; /* the first complete one; else the first */
    size_t count, complete_count;
};

static void survey_log(const struct import_input *input, struct survey *survey)
{
    const bool capacity_is_fixed = import_fixed_capacity(input->fixed, 0) != 0;
    struct hbm_report report;
    size_t offset = 0;
    survey->count = survey->complete_count = 0;
    while ((survey->count < REPORT_COUNT_MAX || survey->complete_count == 0) &&
           hbm_report_next(input->text, input->length, &offset, &report)) {
        const bool is_complete = hbm_report_missing(&report, capacity_is_fixed) == NULL;
        if (survey->count == 0 || (is_complete && survey->complete_count == 0)) {
            survey->first = report;
        }
        survey->count++;
        survey->complete_count += is_complete ? 1 : 0;
    }
}

/* The length of the first line of the report, or of what is said before its rows. */
static size_t measure_first_line(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && text[i] != '\n' && text[i] != '\\') {
        i++;
    }
    return i;
}

static void note_report(const struct import_input *input, const struct survey *survey, size_t line,
                        struct import *import)
{
    char quoted[QUOTE_BYTES];
    const char *text = input->text + survey->first.begin;
    phrase_print(text, measure_first_line(text, survey->first.end - survey->first.begin), quoted,
                 sizeof quoted);
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

static enum import_result import_hbm_report(const struct import_input *input, struct import *import,
                                            struct import_error *error)
{
    struct survey survey;
    survey_log(input, &survey);
    if (survey.count == 0) {
        return import_fail(error, IMPORT_INCOMPLETE, 0, 0,
                           "no report of the compiler on device memory in this text");
    }
    import_position(input->text, survey.first.begin, &error->line, &error->column);
    if (survey.complete_count == 0) {
        return import_fail(
            error, IMPORT_INCOMPLETE, error->line, error->column, "%s",
            hbm_report_missing(&survey.first, import_fixed_capacity(input->fixed, 0) != 0));
    }
    note_report(input, &survey, error->line, import);
    return hbm_report_build(&survey.first, input, import, error);
}

const struct format format_hbm_report = {
    .name = "hbm_report",
    .summary = "what XLA prints when a program needs more memory than the device has, in any log",
    .recognise = recognise_hbm_report,
    .import = import_hbm_report,
};
