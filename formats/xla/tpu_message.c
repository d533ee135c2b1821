/* The format: finds the messages of a log, takes the first complete one, and says how many there
 * were. */
#include "formats/xla/private/tpu_message.h"
#include "formats/common/chip_named.h"
#include "formats/common/phrase.h"
#include "formats/xla/private/hbm_report.h"

#include <string.h>

static unsigned recognise_tpu_message(const char *text, size_t length)
{
    struct tpu_message message;
    size_t offset = 0;
    return tpu_message_next(text, length, &offset, &message) ? 80 : 0;
}

/* The messages that a log holds. */
struct survey {
    /* the first complete message; a cut one when there is no complete one */
    struct tpu_message first;
    size_t complete_count;
    size_t cut_count;
};

static void survey_log(const char *text, size_t length, struct survey *survey)
{
    struct tpu_message message;
    *survey = (struct survey){0};
    for (size_t offset = 0; tpu_message_next(text, length, &offset, &message);) {
        const bool is_complete = message.missing == NULL;
        const bool is_first = survey->complete_count == 0 &&
                              (is_complete || survey->cut_count == 0);
        if (is_first) {
            survey->first = message;
        }
        survey->complete_count += is_complete ? 1 : 0;
        survey->cut_count += is_complete ? 0 : 1;
    }
}

enum { QUOTE_BYTES = 400 };

static void note_message(const struct import_input *input, const struct survey *survey, size_t line,
                         struct import *import)
{
    char quoted[QUOTE_BYTES];
    /* The message on one line. */
    phrase_print(input->text + survey->first.begin, survey->first.end - survey->first.begin, quoted,
                 sizeof quoted);
    import_note(import, "line %zu: %s", line, quoted);
    import_quote(import, quoted, strlen(quoted), line);
    if (survey->complete_count > 1) {
        import_note(import, "%zu messages in the log; this is the first", survey->complete_count);
    }
    if (survey->cut_count > 0) {
        import_note(import, "%zu messages in the log are cut off and not used", survey->cut_count);
    }
}

/* Names the chip as jobs print the kind of their devices when they start. */
static void name_chip(const struct import_input *input, struct tpu_message *message)
{
    size_t at = 0, length = 0;
    message->chip = chip_named(input->text, input->length, &at, &length);
    if (message->chip != NULL) {
        phrase_print(input->text + at, length, message->chip_words, sizeof message->chip_words);
    }
}

static enum import_result import_tpu_message(const struct import_input *input,
                                             struct import *import, struct import_error *error)
{
    struct survey survey;
    survey_log(input->text, input->length, &survey);
    if (survey.complete_count + survey.cut_count == 0) {
        return import_fail(error, IMPORT_INCOMPLETE, 0, 0,
                           "no runtime out-of-memory message in this text");
    }
    import_position(input->text, survey.first.begin, &error->line, &error->column);
    if (survey.complete_count > 0) {
        note_message(input, &survey, error->line, import);
        hbm_report_assume_message(input, survey.first.begin, import);
        name_chip(input, &survey.first);
    }
    return tpu_message_build(&survey.first, input->fixed, import, error);
}

const struct format format_tpu_message = {
    .name = "tpu_message",
    .summary = "an out-of-memory message of the XLA:TPU runtime in any log",
    .recognise = recognise_tpu_message,
    .import = import_tpu_message,
};
