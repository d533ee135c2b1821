#include "explain/explain_text.h"

#include "explain/log.h"
#include "explain/report.h"
#include "explain/two_runs.h"
#include "recording/recording.h"

#include <errno.h>
#include <string.h>

/* Behind the length of the picture, which nobody asked for, and the exit code. */
static bool append_words(const struct writing *answer, struct writing *text)
{
    const size_t start = sizeof(uint64_t) + sizeof(enum exit_code);
    if (answer->length < start) {
        return false;
    }
    writing_append_bytes(text, answer->bytes + start, answer->length - start);
    return true;
}

/* Of what needs no run, or has no list.  False: it must run. */
static bool append_told(const struct explain_options *options, const struct recording *recording,
                        struct writing *text)
{
    if (explain_report_is_told(recording)) {
        explain_report_append(options, recording, text);
        return true;
    }
    if (recording->why_no_list[0] != '\0') {
        explain_log_alone(&recording->story, recording->why_no_list, false, text);
        return true;
    }
    return false;
}

static enum exit_code append_run(const struct explain_options *options,
                                 const struct recording *recording, struct writing *text,
                                 char why[EXPLAIN_WHY_BYTES])
{
    struct explain_work work = {recording, options};
    struct writing answer;
    char death_words[DEATH_WORDS_BYTES];
    enum child_end end;
    struct death death;
    writing_init(&answer);
    const enum exit_code code = target_child(options->reading.run, &death, explain_and_answer,
                                             &work, &answer, &end);
    death_describe(&death, death_words);
    if (code == EXIT_KEPT && (end != CHILD_DONE || !append_words(&answer, text))) {
        snprintf(why, EXPLAIN_WHY_BYTES, "%s",
                 end == CHILD_DONE        ? "the target refuses the setup"
                 : death_words[0] == '\0' ? "it took too long"
                                          : death_words);
    }
    writing_deinit(&answer);
    return code;
}

enum exit_code explain_text(const struct explain_options *options,
                            const struct recording *recording, struct writing *text,
                            char why[EXPLAIN_WHY_BYTES])
{
    struct explain_options words = *options;
    words.is_json = false;
    words.has_timeline = false;
    words.svg = NULL;
    why[0] = '\0';
    return append_told(&words, recording, text) ? EXIT_KEPT
                                                : append_run(&words, recording, text, why);
}
