#include "explain/explain.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/place.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/child.h"
#include "explain/compare.h"
#include "explain/log.h"
#include "explain/report.h"
#include "explain/two_runs.h"
#include "explain/what_if.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <errno.h>
#include <string.h>

static enum exit_code fail_without_answer(const struct explain_options *options, enum child_end end,
                                          const char *death)
{
    const char *path = options->paths[0];
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted: nothing was explained");
    }
    if (end == CHILD_STOPPED) {
        return message_fail(
            EXIT_BROKEN,
            "%s: the list did not end within --trial-timeout or --op-timeout; hbmstress replay reports at which op",
            path);
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "%s: internal error: %s", path, death);
    }
    if (end == CHILD_DIED) {
        return message_fail(
            EXIT_BROKEN,
            "%s: the target ended its process: %s; hbmstress replay reports at which op", path,
            death);
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
    struct writing text;
    memcpy(&svg_bytes, answer->bytes, sizeof svg_bytes);
    const size_t start = sizeof svg_bytes + (size_t)svg_bytes;
    writing_init(&text);
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
    struct explain_work work = {recording, options};
    struct writing answer;
    char death[CHILD_DEATH_BYTES];
    writing_init(&answer);
    death_set_op_timeout(options->reading.run->op_timeout_ns);
    const enum child_end end = child_run(
        explain_and_answer, &work, options->reading.run->trial_timeout_ns, true, &answer, death);
    const bool is_answered = end == CHILD_DONE && is_whole_answer(&answer);
    const enum exit_code code = is_answered ? take_answer(options, &answer)
                                            : fail_without_answer(options, end, death);
    writing_deinit(&answer);
    return code;
}

/* A compiler's report is told without a run; what a runtime's failure has of one comes behind. */
static enum exit_code explain_file(const struct explain_options *options,
                                   const struct recording *recording)
{
    return explain_report_is_told(recording)
               ? explain_report(options, recording)
               : explain_report_after(options, recording, explain_recording(options, recording));
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
    struct writing text;
    writing_init(&text);
    if (code == EXIT_KEPT) {
        explain_log_alone(&recording->story, recording->why_no_list, options->is_json, &text);
    } else if (recording->story.event_count > 1 || recording->story.source_count > 1) {
        explain_log(&recording->story, options->is_json, &text);
    }
    if (!options->is_json) {
        wrap_answer(&text, 0);
    }
    if (!writing_print(&text, stdout)) {
        code = message_fail(EXIT_HARNESS, "standard output: %s", strerror(errno));
    }
    writing_deinit(&text);
    return code;
}

enum exit_code explain_run(const struct explain_options *options)
{
    struct recording recording;
    struct output_place place;
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
