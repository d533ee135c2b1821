/* Converts what a run does with its device to the formats of other tools, and a field log or a
 * trace to a list of ops. */
#include "campaign/base/message.h"
#include "campaign/base/place.h"
#include "campaign/base/target_path.h"
#include "campaign/engine/output.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/attempt.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/base/standard.h"
#include "harness/base/whole_file.h"
#include "harness/trial/trial_run.h"
#include "recording/recording.h"
#include "replay/private/replay_parts.h"
#include "replay/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The answer of the child. */
struct convert_answer {
    bool is_written, is_refused, has_missed; /* the moment that --at names */
    int error;                               /* errno of a write that failed; 0 = none */
    uint64_t event_count;
    struct run_totals totals;
    char reason[VERDICT_REASON_BYTES]; /* of the first promise that was broken; "" = none */
};

/* One export; the child's, but for the paths. */
struct exporting {
    const struct recording *recording;
    const struct exporter *exporter;
    const char *source;            /* what is run, as the user names it */
    const char *at;                /* of --at; NULL: not given */
    const char *path;              /* the same of the output; NULL: standard output */
    struct output_place place;     /* of path */
    char partial[FILE_PATH_BYTES]; /* where it is written until it is whole; "" = at once */
    struct export_feed feed;
    struct convert_answer answer;
};

/* Runs the ops and writes the whole stream.  False: *answer says why not. */
static bool run_and_write(struct exporting *exporting)
{
    const struct run_listener listener = {&exporting->feed, export_feed_judged};
    const struct recording *recording = exporting->recording;
    struct convert_answer *answer = &exporting->answer;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    answer->is_refused = !trial_replay(recording->target, &recording->setup, &recording->ops,
                                       &listener, &trial, reason);
    if (answer->is_refused) {
        return false;
    }
    answer->totals = trial.totals;
    snprintf(answer->reason, sizeof answer->reason, "%s", trial.first.reason);
    const bool is_good = export_feed_finish(&exporting->feed, &trial);
    answer->event_count = exporting->feed.event_count;
    answer->has_missed = exporting->feed.export.has_missed;
    trial_deinit(&trial);
    answer->error = is_good ? 0 : ENOMEM;
    return is_good && !answer->has_missed;
}

/* Ends the output; returns true if all of it is in place. */
static bool finish_output(struct exporting *exporting)
{
    FILE *stream = exporting->feed.export.stream;
    errno = 0;
    bool is_good;
    if (exporting->partial[0] != '\0') {
        is_good = whole_file_end(stream, exporting->partial, exporting->place.path, true);
    } else {
        is_good = fflush(stream) == 0 && !ferror(stream);
        is_good = (exporting->path == NULL || fclose(stream) == 0) && is_good;
    }
    const int error = exporting->feed.error == 0 ? errno : exporting->feed.error;
    exporting->answer.error = is_good ? 0 : error == 0 ? EIO : error;
    return is_good;
}

/* Sets the moment to export from the value of --at. */
static void set_moment(struct export *export, const char *at)
{
    uint64_t op = 0;
    if (at == NULL || strcmp(at, "peak") == 0) {
        export->moment = EXPORT_AT_PEAK;
    } else if (number_parse(at, strlen(at), &op)) {
        export->moment = EXPORT_AT_OP;
        export->moment_op = (uint32_t)op;
    } else {
        export->moment = EXPORT_AT_FAILURE;
    }
}

static void export_and_answer(void *context, int file)
{
    struct exporting *exporting = context;
    struct convert_answer *answer = &exporting->answer;
    struct export_feed *feed = &exporting->feed;
    const bool is_fed = export_feed_init(feed, exporting->exporter);
    feed->export.source = exporting->source;
    set_moment(&feed->export, exporting->at);
    /* If the parent removed the file because it ends, the child does not make it again. */
    feed->export.stream = exporting->path == NULL         ? standard_output()
                          : exporting->partial[0] != '\0' ? fopen(exporting->partial, "r+")
                                                          : fopen(exporting->path, "w");
    if (feed->export.stream == NULL || !is_fed) {
        answer->error = errno == 0 ? ENOMEM : errno;
    } else {
        answer->is_written = run_and_write(exporting) && finish_output(exporting);
    }
    export_feed_deinit(feed);
    (void)file_write_all(file, answer, sizeof *answer);
}

static enum exit_code print_written(const struct exporting *exporting)
{
    const struct convert_answer *answer = &exporting->answer;
    struct writing text;
    if (answer->reason[0] != '\0') {
        message_note("the run ended early, and so does the output: %s", answer->reason);
    }
    if (exporting->path == NULL) {
        return totals_exit_code(&answer->totals);
    }
    writing_init(&text);
    writing_append_visible(&text, exporting->path);
    writing_append_format(&text,
                          ": %" PRIu64 " events of %" PRIu64 " ops as %s, %" PRIu64 " OOMs\n",
                          answer->event_count, (answer->totals.ops + answer->totals.skipped),
                          exporting->exporter->name, answer->totals.ooms);
    return output_once(false, &text, totals_exit_code(&answer->totals));
}

/* Describes the output of a run that did not end. */
static const char *describe_output(const struct exporting *exporting)
{
    const bool is_whole_or_not = exporting->path != NULL && !exporting->place.is_special;
    return is_whole_or_not ? "nothing is written" : "the output is incomplete";
}

static enum exit_code print_end(const struct exporting *exporting, const char *file,
                                enum child_end end, const struct death *death)
{
    const struct convert_answer *answer = &exporting->answer;
    char name[SIGNATURE_BYTES] = "it ended early";
    if (end == CHILD_STOPPED) {
        return message_fail(EXIT_BROKEN, "%s: target %s hangs; %s", file,
                            exporting->recording->setup.target, describe_output(exporting));
    }
    if (end == CHILD_DIED) {
        if (death->kind != DEATH_NONE) {
            death_name(death, name);
        }
        return message_fail(EXIT_BROKEN, "%s: target %s ended its process: %s; %s", file,
                            exporting->recording->setup.target, name, describe_output(exporting));
    }
    if (answer->is_refused) {
        return message_fail(EXIT_HARNESS,
                            "%s: the target now refuses the setup that it accepted before", file);
    }
    if (answer->has_missed) {
        return message_fail(EXIT_USAGE, "%s: --at %s: the run has no such moment", file,
                            exporting->at == NULL ? "peak" : exporting->at);
    }
    if (answer->is_written || (exporting->path == NULL && answer->error == EPIPE)) {
        return print_written(exporting);
    }
    return message_fail(EXIT_HARNESS, "%s: %s",
                        exporting->path == NULL ? "standard output" : exporting->path,
                        strerror(answer->error));
}

static enum exit_code export_recording(const struct convert_options *options,
                                       struct exporting *exporting)
{
    struct writing bytes;
    struct death death;
    enum child_end end;
    if (exporting->path != NULL && !exporting->place.is_special &&
        !partial_create(exporting->place.path, exporting->partial)) {
        return message_fail(EXIT_HARNESS, "%s: %s", exporting->path, strerror(errno));
    }
    writing_init(&bytes);
    enum exit_code code = target_child(options->reading.run, &death, export_and_answer, exporting,
                                       &bytes, &end);
    if (code == EXIT_KEPT && end == CHILD_DONE && bytes.length != sizeof exporting->answer) {
        end = CHILD_DIED;
    }
    if (code == EXIT_KEPT && end == CHILD_DONE) {
        memcpy(&exporting->answer, bytes.bytes, sizeof exporting->answer);
    }
    writing_deinit(&bytes);
    partial_remove(exporting->partial);
    return code == EXIT_KEPT ? print_end(exporting, options->path, end, &death) : code;
}

enum exit_code convert_to_trace(const struct convert_options *options,
                                const struct exporter *exporter)
{
    struct recording recording;
    struct exporting exporting = {.recording = &recording,
                                  .source = options->path,
                                  .exporter = exporter,
                                  .at = options->at,
                                  .path = options->output};
    enum exit_code code = EXIT_KEPT;
    if (exporting.at != NULL && !exporter->has_moment) {
        return message_fail(EXIT_USAGE, "--at applies to --to pprof alone");
    }
    if (exporting.path != NULL) {
        code = place_find(exporting.path, options->path, &exporting.place);
    }
    if (code != EXIT_KEPT) {
        return code;
    }
    code = recording_read(options->path, options->reading, true, &recording);
    code = code == EXIT_KEPT ? export_recording(options, &exporting) : code;
    recording_deinit(&recording);
    return code;
}

/* --- a field log or a trace becomes a list of ops --- */

static enum exit_code print_list_written(const char *path, const struct recording *recording)
{
    struct writing text;
    char capacity[SIZE_TEXT_BYTES];
    writing_init(&text);
    size_print(recording->setup.capacity_bytes, capacity);
    writing_append_visible(&text, path);
    writing_append_format(&text, ": %zu ops, capacity %s, target ", recording->ops.count, capacity);
    writing_append_visible(&text, recording->setup.target);
    writing_append(&text, "\n");
    return output_once(false, &text, EXIT_KEPT);
}

/* Checks that the list which is written can be replayed. */
static enum exit_code check_target(const struct convert_options *options,
                                   struct recording *recording)
{
    struct target_probe target_probe;
    if (recording->setup.capacity_bytes == 0) {
        return EXIT_KEPT; /* an .ops file may leave it to the command line of replay */
    }
    const enum exit_code code = lookup_target_of_list(
        options->reading.run->target == NULL ? options->path : NULL, recording->setup.target,
        &recording->target);
    return code != EXIT_KEPT
               ? code
               : target_probe_run(recording->target, &recording->setup, options->path,
                                  options->reading.run->trial_timeout_ns, &target_probe);
}

enum exit_code convert_to_ops(const struct convert_options *options)
{
    struct recording recording = {0};
    struct writing notes;
    struct output_place place;
    if (options->output != NULL &&
        place_find(options->output, options->path, &place) != EXIT_KEPT) {
        return EXIT_USAGE;
    }
    op_list_init(&recording.ops);
    writing_init(&notes);
    enum exit_code code = recording_import(options->path, options->reading, &recording, &notes);
    code = code == EXIT_KEPT ? check_target(options, &recording) : code;
    target_path_append_comment(&notes, recording.setup.target, options->output);
    if (code == EXIT_KEPT) {
        code = ops_output(options->output, &recording.setup, &recording.ops,
                          notes.length == 0 ? NULL : writing_string(&notes));
    }
    if (code == EXIT_KEPT && options->output != NULL) {
        code = print_list_written(options->output, &recording);
    }
    writing_deinit(&notes);
    recording_deinit(&recording);
    return code;
}
