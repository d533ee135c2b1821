#include "recording/recording.h"

#include "campaign/base/file.h"
#include "campaign/base/interrupt.h"
#include "campaign/base/target_path.h"
#include "campaign/plan/lookup.h"
#include "campaign/process/attempt.h"
#include "formats/common/import.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"
#include "harness/lanes/lanes.h"
#include "harness/op/chip.h"
#include "harness/op/ops_file.h"
#include "harness/op/rounding.h"
#include "targets/plugin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

static bool is_option_given(const struct recording_options *options, const char *key)
{
    for (uint32_t i = 0; i < options->run->option_count; i++) {
        if (strcmp(options->run->options[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns true if both are one name, or two paths of one plug-in. */
static bool is_same_target(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (plugin_is_named(a) && plugin_is_named(b) && file_is_same(a, b));
}

/* Drops the file's options if the target is another than the file's: it never promised them.  Only
 * options of the command line hold.  named_target is the file's; "" = it names none. */
static void drop_options(const char *path, const char *named_target,
                         const struct recording_options *options, struct setup *setup)
{
    struct writing dropped;
    char named_path[FILE_PATH_BYTES];
    target_path_find(path, named_target, named_path);
    if (options->run->target == NULL || named_target[0] == '\0' ||
        is_same_target(options->run->target, named_path)) {
        return;
    }
    writing_init(&dropped);
    for (uint32_t i = 0; i < setup->option_count; i++) {
        if (!is_option_given(options, setup->options[i].key)) {
            writing_append_format(&dropped, " %s=%s", setup->options[i].key,
                                  setup->options[i].value);
        }
    }
    if (dropped.length > 0) {
        message_note(
            "%s: its options are for target %s and are not passed to %s:%s; --target-option passes them",
            path, named_target, options->run->target, writing_string(&dropped));
    }
    if (setup->has_rounding && !options->run->has_rounding) {
        message_note(
            "%s: its rounding is for target %s and does not hold for %s; --rounding sets one", path,
            named_target, options->run->target);
    }
    setup->option_count = 0;
    setup->has_rounding = false;
    writing_deinit(&dropped);
}

/* Puts the command line over what is in the file; a list must not be on hosts that are not there
 * then. */
static enum exit_code override_setup(const char *path, const char *named_target,
                                     const struct recording_options *options,
                                     struct recording *recording)
{
    char reason[96];
    drop_options(path, named_target, options, &recording->setup);
    const enum exit_code code = setup_override(&recording->setup, options->run);
    if (code != EXIT_KEPT || options->run->host_count == 0) {
        return code;
    }
    for (size_t i = 0; i < recording->ops.count; i++) {
        const unsigned host = recording->ops.ops[i].host;
        if (host >= options->run->host_count) {
            snprintf(reason, sizeof reason, "op %zu is on host %u: --hosts must be %u or more", i,
                     host, host + 1);
            return fail_in_file(path, 0, 0, reason);
        }
    }
    return EXIT_KEPT;
}

/* Refuses options of tokens for a file that has none: they must not be dropped silently. */
static enum exit_code check_tokens(const char *path, const struct recording_options *options,
                                   const struct format *format)
{
    const char *given = options->kv_bytes_per_token > 0     ? "--kv-bytes-per-token"
                        : options->kv_tokens_per_second > 0 ? "--kv-tokens-per-second"
                                                            : NULL;
    if (given == NULL || format == &format_azure_llm) {
        return EXIT_KEPT;
    }
    return message_fail(EXIT_USAGE,
                        "%s: %s applies to a request trace, and this file has the format %s", path,
                        given, format->name);
}

/* Takes over the report of an import, whether it made a list or not. */
static void take_report(struct import *import, struct recording *recording)
{
    memcpy(recording->message, import->message, sizeof import->message);
    recording->message_line = import->message_line;
    memcpy(recording->assumed, import->assumed, sizeof import->assumed);
    recording->compile_report = import->compile_report;
    import->compile_report = NULL; /* the recording's now */
}

/* Returns true if the log can be explained although nothing is imported. */
static bool is_told_alone(const struct log_story *story, enum import_result result)
{
    return story->verdict != LOG_VERDICT_NOTHING &&
           (story->verdict != LOG_VERDICT_OOM || result == IMPORT_UNRECOGNISED);
}

/* A line of a directory's log is one of the file whose failure was to be imported. */
static enum exit_code fail_in_log(const char *path, const struct import_error *error,
                                  const struct log_story *story)
{
    char file[FILE_PATH_BYTES];
    if (story->file_count == 0 || story->first == LOG_EVENT_UNKNOWN) {
        return fail_in_file(path, error->line, error->column, error->reason);
    }
    snprintf(file, sizeof file, "%s/%s", path, story->files[story->events[story->first].file]);
    return fail_in_file(file, error->line, error->column, error->reason);
}

/* Accepts a file without a list if it can be explained and the caller allows that; else fails. */
static enum exit_code accept_without_list(const char *path, enum import_result result,
                                          const struct import_error *error, struct import *import,
                                          struct recording *recording)
{
    const bool is_report = import->compile_report != NULL;
    if (!recording->accepts_no_list || !(is_report || is_told_alone(&recording->story, result))) {
        return fail_in_log(path, error, &recording->story);
    }
    if (is_report) {
        take_report(import, recording);
    }
    snprintf(recording->why_no_list, sizeof recording->why_no_list, "%s",
             result == IMPORT_UNRECOGNISED ? "no importer reads this message" : error->reason);
    return EXIT_KEPT;
}

enum exit_code recording_import(const char *path, struct recording_options options,
                                struct recording *recording, struct writing *notes)
{
    struct setup fixed = {0}; /* what the command line fixes; importers want nothing else in it */
    char named_target[SETUP_VALUE_BYTES];
    enum exit_code code = setup_override(&fixed, options.run);
    if (code != EXIT_KEPT) {
        return code;
    }
    const struct import_options imported = {.fixed = &fixed,
                                            .kv_bytes_per_token = options.kv_bytes_per_token,
                                            .kv_tokens_per_second = options.kv_tokens_per_second,
                                            .with_stacks = recording->with_stacks};
    struct import import;
    struct import_error error = {0};
    import_init(&import);
    const enum import_result result = (recording->accepts_no_list && file_is_directory(path)
                                           ? import_directory_and_log
                                           : import_file_and_log)(
        path, options.format, &imported, &import, &recording->story, &error);
    if (result != IMPORT_OK) {
        code = accept_without_list(path, result, &error, &import, recording);
        import_deinit(&import);
        return code;
    }
    recording->setup = import.setup;
    op_list_copy(&recording->ops, &import.ops);
    memcpy(named_target, import.named_target, sizeof named_target);
    import_print_comments(&import, notes);
    recording->format = import.format;
    recording->view = import.view;
    memcpy(recording->told, import.told, sizeof import.told);
    memcpy(recording->settings, import.settings, sizeof import.settings);
    memcpy(recording->devices, import.devices, sizeof import.devices);
    take_report(&import, recording);
    recording->said = import.said;
    recording->said_count = import.said_count;
    import.said = NULL; /* the recording's now */
    recording->stacks = import.stacks;
    import.stacks = NULL;
    import_deinit(&import);
    code = check_tokens(path, &options, recording->format);
    return code != EXIT_KEPT ? code : override_setup(path, named_target, &options, recording);
}

/* Fails; a user who gave a log instead of a list reads which commands accept one. */
static enum exit_code fail_in_ops(const char *path, const struct ops_file_error *error)
{
    char reason[sizeof error->reason + 128];
    const bool is_foreign = strncmp(error->reason, "not a", 5) == 0; /* no .ops file, no text */
    const char *help =
        "; hbmstress convert makes one from a log, and hbmstress replay --compare reads the log itself";
    snprintf(reason, sizeof reason, "%s%s", error->reason, is_foreign ? help : "");
    return fail_in_file(path, error->line, error->column, reason);
}

static enum exit_code read_ops(const char *path, const struct recording_options *options,
                               struct recording *recording)
{
    struct ops_file_error error = {0};
    char named_target[SETUP_VALUE_BYTES];
    if (ops_file_read(path, &recording->setup, &recording->ops, &error) != OPS_FILE_OK) {
        return fail_in_ops(path, &error);
    }
    memcpy(named_target, recording->setup.target, sizeof named_target);
    return override_setup(path, named_target, options, recording);
}

static enum exit_code choose_capacity(const char *path, struct setup *setup)
{
    const struct chip *chip = setup->chip[0] == '\0' ? NULL : chip_find(setup->chip);
    if (setup->capacity_bytes == 0 && chip != NULL) {
        setup->capacity_bytes = chip->capacity_bytes;
    }
    if (setup->capacity_bytes == 0) {
        return fail_in_file(path, 0, 0, "it names no capacity; give --capacity or --chip");
    }
    return EXIT_KEPT;
}

/* A list with lanes needs a target that a scheduler can run, unless they run freely. */
static enum exit_code check_lanes(const char *path, const struct recording_options *options,
                                  const struct recording *recording)
{
    char reason[LANES_WHY_NOT_BYTES];
    if (!lanes_are_in(&recording->ops) || options->run->lanes.backend == LANE_BACKEND_FREE ||
        !lanes_why_not_scheduled(recording->target, reason)) {
        return EXIT_KEPT;
    }
    return message_fail(EXIT_USAGE, "%s: target '%s' cannot be run with lanes: %s", path,
                        recording->setup.target, reason);
}

static enum exit_code read_recording(const char *path, const struct recording_options *options,
                                     bool any_format, struct recording *recording)
{
    struct writing notes;
    setup_init(&recording->setup);
    op_list_init(&recording->ops);
    writing_init(&notes);
    enum exit_code code = any_format ? recording_import(path, *options, recording, &notes)
                                     : read_ops(path, options, recording);
    writing_deinit(&notes);
    if (code == EXIT_KEPT && recording->why_no_list[0] != '\0') {
        return EXIT_KEPT;
    }
    code = code == EXIT_KEPT ? choose_capacity(path, &recording->setup) : code;
    if (code == EXIT_KEPT && lanes_are_in(&recording->ops) &&
        lanes_why_not_list(&recording->ops) != NULL) {
        code = fail_in_file(path, 0, 0, lanes_why_not_list(&recording->ops));
    }
    if (code == EXIT_KEPT) {
        /* Its path is relative to the user's folder, or in a list to the list's. */
        code = lookup_target_of_list(options->run->target == NULL ? path : NULL,
                                     recording->setup.target, &recording->target);
    }
    code = code == EXIT_KEPT ? check_lanes(path, options, recording) : code;
    if (code != EXIT_KEPT) {
        return code;
    }
    struct target_probe target_probe;
    return target_probe_run(recording->target, &recording->setup, path,
                            options->run->trial_timeout_ns, &target_probe);
}

enum exit_code recording_read(const char *path, struct recording_options options, bool any_format,
                              struct recording *recording)
{
    *recording = (struct recording){0};
    return read_recording(path, &options, any_format, recording);
}

enum exit_code recording_read_to_tell(const char *path, struct recording_options options,
                                      struct recording *recording)
{
    *recording = (struct recording){.accepts_no_list = true};
    return read_recording(path, &options, true, recording);
}

enum exit_code recording_read_to_show(const char *path, struct recording_options options,
                                      struct recording *recording)
{
    *recording = (struct recording){.accepts_no_list = true, .with_stacks = true};
    return read_recording(path, &options, true, recording);
}

bool recording_capacity_is_assumed(const struct recording *recording)
{
    const char *facts = recording->assumed;
    return strncmp(facts, "capacity ", 9) == 0 || strstr(facts, "\ncapacity ") != NULL;
}

void recording_deinit(struct recording *recording)
{
    log_story_deinit(&recording->story);
    op_list_deinit(&recording->ops);
    compile_report_destroy(recording->compile_report);
    recording->compile_report = NULL;
    stacks_destroy(recording->stacks);
    recording->stacks = NULL;
    free(recording->said);
    recording->said = NULL;
}

const char *device_name(const struct recording *recording, uint32_t host,
                        char name[DEVICE_NAME_BYTES])
{
    const struct system *system = system_find(recording->setup.system);
    const uint32_t *at = recording->setup.coordinate;
    if (recording->devices[host][0] != '\0') {
        snprintf(name, DEVICE_NAME_BYTES, "%s", recording->devices[host]);
    } else if (system != NULL && system->is_tpu && (at[0] | at[1] | at[2] | at[3]) != 0) {
        snprintf(name, DEVICE_NAME_BYTES, "%.16s %ux%ux%u_HBM%u", system->device, at[0] + host,
                 at[1], at[2], at[3]);
    } else {
        snprintf(name, DEVICE_NAME_BYTES, "%.16s %u", system == NULL ? "host" : system->device,
                 host);
    }
    return name;
}

static const char first_word[] = "hbmstress-ops";

/* A line of an op begins with its number and a colon. */
static bool is_op(const char *line)
{
    const char *word = line + strspn(line, " \t");
    const size_t length = strcspn(word, " \t\r\n");
    return length > 1 && word[0] != '#' && word[length - 1] == ':';
}

static size_t find_in_stream(FILE *stream, uint32_t op)
{
    char *line = NULL;
    size_t room = 0, number = 0, found = 0;
    uint64_t op_count = 0;
    while (found == 0 && getline(&line, &room, stream) >= 0) {
        number++;
        if (number == 1 && strncmp(line, first_word, sizeof first_word - 1) != 0) {
            break;
        }
        if (is_op(line) && op_count++ == op) {
            found = number;
        }
    }
    free(line);
    return found;
}

size_t op_line_find(const char *path, uint32_t op)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0; /* what is read from a pipe is gone */
    }
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        return 0;
    }
    const size_t line = find_in_stream(stream, op);
    (void)fclose(stream);
    return line;
}

void repeat_word(struct writing *text, const char *word)
{
    char *quoted = malloc(SHELL_WORD_BYTES(strlen(word)));
    CHECK(quoted != NULL);
    writing_append(text, " ");
    writing_append_visible(text, shell_word(word, quoted));
    free(quoted);
}

void repeat_option(struct writing *text, const char *name, const char *value)
{
    if (value == NULL) {
        return;
    }
    writing_append_format(text, " %s", name);
    repeat_word(text, value);
}

void repeat_number(struct writing *text, const char *name, uint64_t value)
{
    if (value != 0) {
        writing_append_format(text, " %s %" PRIu64, name, value);
    }
}

void repeat_setup(struct writing *text, const struct run_options *options)
{
    repeat_option(text, "--target", options->target);
    for (uint32_t i = 0; i < options->option_count; i++) {
        char option[sizeof options->options[i].key + sizeof options->options[i].value];
        snprintf(option, sizeof option, "%s=%s", options->options[i].key,
                 options->options[i].value);
        repeat_option(text, "--target-option", option);
    }
    repeat_option(text, "--chip", options->chip);
    repeat_number(text, "--capacity", options->capacity_bytes);
    repeat_number(text, "--hosts", options->host_count);
    if (options->has_regret_max) {
        writing_append_format(text, " --regret-max %" PRIu64, options->regret_max);
    }
    if (options->has_rounding) {
        char rounding[ROUNDING_TEXT_BYTES];
        rounding_print(&options->rounding, rounding);
        repeat_option(text, "--rounding", rounding);
    }
}

enum exit_code target_child(const struct run_options *options, struct death *death,
                            void (*work)(void *context, int file), void *context,
                            struct writing *answer, enum child_end *end)
{
    const struct child_job job = {.work = work,
                                  .context = context,
                                  .duration_ns = options->trial_timeout_ns,
                                  .op_timeout_ns = options->op_timeout_ns,
                                  .stuck_ns = options->op_timeout_ns,
                                  .is_interruptible = true};
    if (interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    *end = child_work(&job, answer, death);
    if (*end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (*end == CHILD_STOPPED && death->kind == DEATH_NONE) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    if (death->kind == DEATH_CHECK) {
        char words[DEATH_WORDS_BYTES];
        death_describe(death, words);
        return message_fail(EXIT_HARNESS, "%s. Please report this.", words);
    }
    return EXIT_KEPT;
}

struct target_reply target_ask(const struct target_question *question, void *to, size_t length,
                               void *more, size_t more_length)
{
    struct target_reply reply = {0};
    struct writing answer;
    enum child_end end;
    writing_init(&answer);
    reply.code = target_child(question->options, question->death, question->work, question->context,
                              &answer, &end);
    reply.is_dead = reply.code == EXIT_KEPT && end != CHILD_DONE;
    reply.is_whole = reply.code == EXIT_KEPT && end == CHILD_DONE &&
                     answer.length == length + more_length;
    if (reply.is_whole) {
        memcpy(to, answer.bytes, length);
    }
    if (reply.is_whole && more != NULL) {
        memcpy(more, answer.bytes + length, more_length);
    }
    if (reply.code == EXIT_KEPT && !reply.is_whole) {
        death_describe(question->death, reply.words);
    }
    writing_deinit(&answer);
    return reply;
}
