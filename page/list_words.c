#include "page/list_words.h"

#include "campaign/base/interrupt.h"
#include "campaign/process/child.h"

#include <errno.h>
#include <string.h>

enum { WAIT_MS = 50 };

/* The process's answer, before the words. */
struct answer {
    enum exit_code code;
    char why[PAGE_WHY_BYTES];
};

static void explain_list(void *context, int file)
{
    const struct list_words *words = context;
    struct answer answer = {0};
    struct writing text;
    writing_init(&text);
    answer.code = words->options->explain(words->options->context, words->recording, &text,
                                          answer.why);
    (void)(file_write_all(file, &answer, sizeof answer) &&
           file_write_all(file, writing_string(&text), text.length));
    writing_deinit(&text);
}

enum exit_code list_words_start(struct list_words *words, const struct page_options *options,
                                const struct recording *recording)
{
    words->options = options;
    words->recording = recording;
    return background_start(&words->background, explain_list, words)
               ? EXIT_KEPT
               : message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
}

enum exit_code list_words_take(struct list_words *words, struct writing *text,
                               char why[PAGE_WHY_BYTES])
{
    const struct writing *said = &words->background.answer;
    struct answer answer;
    bool is_good;
    while (!background_is_done(&words->background, WAIT_MS, &is_good)) {
        if (interrupt_is_requested()) {
            return message_fail(EXIT_HARNESS, "interrupted");
        }
    }
    if (!is_good || said->length < sizeof answer) {
        return message_fail(EXIT_HARNESS, "internal error: the process that explains the list "
                                          "ended early. Please report this.");
    }
    memcpy(&answer, said->bytes, sizeof answer);
    memcpy(why, answer.why, sizeof answer.why);
    writing_append_bytes(text, said->bytes + sizeof answer, said->length - sizeof answer);
    return answer.code;
}

void list_words_deinit(struct list_words *words)
{
    background_stop(&words->background);
    writing_deinit(&words->background.answer);
}
