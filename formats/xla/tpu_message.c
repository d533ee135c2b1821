/* The format: finds the messages of a log, takes the first complete one, and says how many there
 * were. */
#include "formats/xla/private/tpu_message.h"

#include <string.h>

static unsigned tpu_message_recognise(const char *text, size_t length)
{
    struct tpu_message message;
    size_t offset = 0;
    return tpu_message_next(text, length, &offset, &message) ? 80 : 0;
}

/* What a log holds. */
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

/* The message on one line: each run of blanks and line breaks becomes one blank. */
static void quote(const char *text, size_t length, char to[QUOTE_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < length && used < QUOTE_BYTES - 1; i++) {
        const bool is_blank = strchr(" \t\r\n", text[i]) != NULL; /* a NUL, too */
        if (!is_blank) {
            to[used++] = text[i];
        } else if (used > 0 && to[used - 1] != ' ') {
            to[used++] = ' ';
        }
    }
    to[used] = '\0';
}

static void note_message(const struct import_input *input, const struct survey *survey, size_t line,
                         struct import *import)
{
    char quoted[QUOTE_BYTES];
    quote(input->text + survey->first.begin, survey->first.end - survey->first.begin, quoted);
    import_note(import, "line %zu: %s", line, quoted);
    if (survey->complete_count > 1) {
        import_note(import, "%zu messages in the log; this is the first", survey->complete_count);
    }
    if (survey->cut_count > 0) {
        import_note(import, "%zu messages in the log are cut off and not used", survey->cut_count);
    }
}

static enum import_result tpu_message_import(const struct import_input *input,
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
    }
    return tpu_message_build(&survey.first, input->fixed, import, error);
}

const struct format format_tpu_message = {
    .name = "tpu_message",
    .summary = "an out-of-memory message of the XLA:TPU runtime in any log",
    .recognise = tpu_message_recognise,
    .import = tpu_message_import,
};
