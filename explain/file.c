/* One file: read, run or told without a run, and printed; the same for a page. */
#include "campaign/base/interrupt.h"
#include "campaign/base/place.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/child.h"
#include "explain/private/files.h"
#include "present/screen.h"
#include "recording/picture.h"
#include "recording/target_child.h"

#include <errno.h>
#include <string.h>

enum exit_code explain_print(const struct explain_options *options, const struct facts *facts,
                             enum exit_code code)
{
    struct output output;
    struct writing text = {0};
    output_init(&output, options->is_json);
    facts_print(facts, options->is_json ? FACTS_JSON : FACTS_WORDS, &text);
    output_line(&output, &text);
    output_text(&output, &text);
    output_flush(&output);
    writing_deinit(&text);
    return output.is_failed ? EXIT_HARNESS : code;
}

enum exit_code explain_fail(const struct explain_failure *failure, const char *path,
                            enum child_end end, const char *death)
{
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted: %s", failure->undone);
    }
    if (end == CHILD_STOPPED) {
        return message_fail(EXIT_BROKEN,
                            "%s: %s did not end within --trial-timeout or --op-timeout%s", path,
                            failure->what, failure->advice);
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "%s: internal error%s: %s", path, failure->under, death);
    }
    if (end == CHILD_DIED) {
        return message_fail(EXIT_BROKEN, "%s: the target ended its process%s: %s%s", path,
                            failure->under, death, failure->advice);
    }
    return message_fail(EXIT_HARNESS,
                        "%s: the target now refuses the setup that it accepted before", path);
}

static bool is_whole_answer(const struct writing *answer)
{
    uint64_t svg_bytes;
    const size_t least = sizeof svg_bytes + sizeof(enum exit_code);
    if (answer->length < least) {
        return false;
    }
    memcpy(&svg_bytes, answer->bytes, sizeof svg_bytes);
    return svg_bytes <= answer->length - least;
}

/* Writes the picture where it is wanted, and prints the text. */
static enum exit_code take_answer(const struct explain_options *options,
                                  const struct writing *answer)
{
    uint64_t svg_bytes;
    struct writing text = {0};
    memcpy(&svg_bytes, answer->bytes, sizeof svg_bytes);
    const size_t start = sizeof svg_bytes + (size_t)svg_bytes;
    writing_append_bytes(&text, answer->bytes + start, answer->length - start);
    enum exit_code code = output_answer(options->is_json, &text);
    writing_deinit(&text);
    if (options->svg != NULL && svg_bytes > 0) {
        const enum exit_code written = picture_write(options->svg, answer->bytes + sizeof svg_bytes,
                                                     (size_t)svg_bytes);
        code = written == EXIT_KEPT ? code : written;
    } else if (options->svg != NULL) {
        message_note("%s: not written, as no memory was ever in use", options->svg);
    }
    return code;
}

static enum exit_code explain_recording(const struct explain_options *options,
                                        const struct recording *recording)
{
    static const struct explain_failure failure = {"nothing was explained", "the list", "",
                                                   "; hbmstress replay reports at which op"};
    struct explain_work work = {recording, options};
    struct writing answer = {0};
    char death[CHILD_DEATH_BYTES];
    death_set_op_timeout(options->reading.run->op_timeout_ns);
    const enum child_end end = child_run(
        explain_and_answer, &work, options->reading.run->trial_timeout_ns, true, &answer, death);
    const bool is_answered = end == CHILD_DONE && is_whole_answer(&answer);
    const enum exit_code code = is_answered ? take_answer(options, &answer)
                                            : explain_fail(&failure, options->paths[0], end, death);
    writing_deinit(&answer);
    return code;
}

/* A compiler's report is told without a run; what a runtime's failure has of one comes behind. */
static enum exit_code explain_file(const struct explain_options *options,
                                   const struct recording *recording)
{
    struct facts facts = {0};
    enum exit_code code = EXIT_KEPT;
    if (explain_report_is_told(recording)) {
        explain_report(&facts, recording);
    } else {
        code = explain_recording(options, recording);
        if (recording->compile_report != NULL && code != EXIT_HARNESS && code != EXIT_USAGE) {
            explain_report_after(&facts, recording);
        }
    }
    code = explain_print(options, &facts, code);
    facts_deinit(&facts);
    return code;
}

/* With what the options of --what-if ask for there must be a list. */
static enum exit_code check_what_if(const struct explain_options *options,
                                    const struct recording *recording)
{
    if (recording->why_no_list[0] == '\0') {
        return what_if_check(options, recording);
    }
    return options->has_what_if || options->what_if_out != NULL || options->checkpoint_tags != NULL
               ? fail_in_file(options->paths[0], 0, 0, recording->why_no_list)
               : EXIT_KEPT;
}

/* What the log tells, where there is no list: because it needs none (code is EXIT_KEPT), or because
 * it could not be read. */
static enum exit_code explain_log_only(const struct explain_options *options,
                                       const struct recording *recording, enum exit_code code)
{
    struct facts facts = {0};
    if (code == EXIT_KEPT) {
        explain_log_alone(&facts, &recording->story, recording->why_no_list);
    } else if (recording->story.event_count > 1 || recording->story.source_count > 1) {
        explain_log(&facts, &recording->story);
    }
    code = explain_print(options, &facts, code);
    facts_deinit(&facts);
    return code;
}

enum exit_code explain_run(const struct explain_options *options)
{
    struct recording recording;
    struct place place;
    screen_keep_columns(screen_columns());
    if (options->paths[1] != NULL) {
        return explain_compare(options);
    }
    if (options->svg != NULL && place_find(options->svg, options->paths[0], &place) != EXIT_KEPT) {
        return EXIT_USAGE;
    }
    enum exit_code code = recording_read_to_tell(options->paths[0], options->reading, &recording);
    if (code != EXIT_KEPT ||
        (recording.why_no_list[0] != '\0' && recording.compile_report == NULL)) {
        code = explain_log_only(options, &recording, code);
        recording_deinit(&recording);
        return code;
    }
    if (options->reading.run->until_step > 0) {
        recording.setup.until_step = options->reading.run->until_step;
    }
    if (code == EXIT_KEPT) {
        code = check_what_if(options, &recording);
    }
    if (code == EXIT_KEPT) {
        code = what_if_explain(options, &recording, explain_file(options, &recording));
    }
    recording_deinit(&recording);
    return code;
}

/* --- for a page --- */

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

static enum exit_code append_run(const struct explain_options *options,
                                 const struct recording *recording, struct writing *text,
                                 char why[EXPLAIN_WHY_BYTES])
{
    struct explain_work work = {recording, options};
    struct writing answer = {0};
    char death_words[DEATH_WORDS_BYTES];
    enum child_end end;
    struct death death;
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
    struct facts facts = {0};
    words.is_json = false;
    words.has_timeline = false;
    words.svg = NULL;
    why[0] = '\0';
    if (explain_report_is_told(recording)) {
        explain_report(&facts, recording);
    } else if (recording->why_no_list[0] != '\0') {
        explain_log_alone(&facts, &recording->story, recording->why_no_list);
    } else {
        return append_run(&words, recording, text, why);
    }
    facts_print(&facts, FACTS_WORDS, text);
    facts_deinit(&facts);
    return EXIT_KEPT;
}
