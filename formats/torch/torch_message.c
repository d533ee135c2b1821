/* Out-of-memory messages of PyTorch: finds those of a log, takes the first that has its numbers,
 * and says what the others are. */
#include "formats/torch/private/torch_message.h"

#include <string.h>

/* The messages that a log has. */
struct survey {
    struct torch_message first;   /* with numbers */
    struct torch_message without; /* the first that has none */
    size_t again_count, other_count, retry_count;
};

static bool has_numbers(const struct torch_message *message)
{
    return message->form != TORCH_MESSAGE_BARE && message->form != TORCH_MESSAGE_RETRY;
}

static bool is_same(const struct torch_message *a, const struct torch_message *b)
{
    return a->form == b->form && a->known == b->known &&
           memcmp(a->facts, b->facts, sizeof a->facts) == 0;
}

/* Surveys the messages of a log.  A message that is cut gives way to a whole one. */
static void survey_messages(const char *text, size_t length, struct survey *survey)
{
    struct torch_search search = torch_search_begin(text, length);
    struct torch_message message;
    *survey = (struct survey){0};
    while (torch_search_next(&search, &message)) {
        struct torch_message *first = &survey->first;
        survey->retry_count += message.form == TORCH_MESSAGE_RETRY;
        if (!has_numbers(&message)) {
            survey->without = survey->without.form == TORCH_MESSAGE_NONE ? message
                                                                         : survey->without;
        } else if (first->form == TORCH_MESSAGE_NONE ||
                   (first->missing != NULL && message.missing == NULL)) {
            *first = message;
        } else if (is_same(first, &message)) {
            survey->again_count++;
        } else {
            survey->other_count += message.missing == NULL;
        }
    }
}

static enum import_result refuse_without_numbers(const struct import_input *input,
                                                 const struct survey *survey,
                                                 struct import_error *error)
{
    size_t line = 0;
    size_t column = 0;
    if (survey->without.form == TORCH_MESSAGE_NONE) {
        return import_fail(error, IMPORT_INCOMPLETE, 0, 0,
                           "the text has no out-of-memory message of PyTorch");
    }
    import_position(input->text, survey->without.begin, &line, &column);
    if (survey->without.form == TORCH_MESSAGE_RETRY) {
        return import_fail(
            error, IMPORT_INCOMPLETE, line, column,
            "not an out-of-memory: one cudaMalloc failed, and PyTorch releases cached memory and tries again (%zu such line%s); only 'out of memory. Tried to allocate' is a failure, and the text has none",
            survey->retry_count, survey->retry_count == 1 ? "" : "s");
    }
    return import_fail(
        error, IMPORT_INCOMPLETE, line, column,
        "this message has no number: it lacks what was asked for, what is free and the device's capacity; import the line 'out of memory. Tried to allocate ...' where there is one, or a memory snapshot");
}

static void note_others(const struct survey *survey, struct import *import)
{
    if (survey->again_count > 0) {
        import_note(import, "the same message stands %zu times in the text: one failure",
                    survey->again_count + 1);
    }
    if (survey->other_count > 0) {
        import_tell(import,
                    "other out-of-memory messages of PyTorch in the text: %zu; this is the first",
                    survey->other_count);
    }
    if (survey->retry_count > 0) {
        import_note(
            import,
            "%zu lines say that one cudaMalloc failed and is tried again: these are no failures",
            survey->retry_count);
    }
}

static enum import_result import_torch_message(const struct import_input *input,
                                               struct import *import, struct import_error *error)
{
    struct survey survey;
    size_t line = 0;
    size_t column = 0;
    survey_messages(input->text, input->length, &survey);
    if (survey.first.form == TORCH_MESSAGE_NONE) {
        return refuse_without_numbers(input, &survey, error);
    }
    import_position(input->text, survey.first.begin, &line, &column);
    *error = (struct import_error){.line = line, .column = column};
    char sentence[IMPORT_MESSAGE_BYTES];
    phrase_print(input->text + survey.first.begin, survey.first.end - survey.first.begin, sentence,
                 sizeof sentence);
    import_quote(import, sentence, strlen(sentence), line);
    note_others(&survey, import);
    return torch_message_build(&survey.first, input, import, error);
}

/* A failure with its numbers is sure; a sentence without any leaves the text to other formats. */
static unsigned recognise_torch_message(const char *text, size_t length)
{
    struct torch_search search = torch_search_begin(text, length);
    struct torch_message message;
    unsigned score = 0;
    while (score < 86 && torch_search_next(&search, &message)) {
        score = has_numbers(&message) ? 86 : 15;
    }
    return score;
}

const struct format format_torch_message = {
    .name = "torch_message",
    .summary = "an out-of-memory message of PyTorch (CUDA, HIP, XPU, MPS), within any log",
    .recognise = recognise_torch_message,
    .import = import_torch_message,
};
