#include "formats/formats.h"
#include "formats/common/import.h"
#include "formats/common/text.h"
#include "formats/export/export.h"
#include "formats/log/log_files.h"
#include "formats/log/log_story.h"
#include "harness/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The formats by which a log reaches the importers. */
struct import_formats {
    const struct format *recognised;                                    /* NULL: none did */
    const struct format *(*recognise)(const char *text, size_t length); /* NULL: it was named */
    const struct log_part *parts;                                       /* part_count of the log */
    size_t part_count;
};

/* Formats whose texts stand in logs of jobs, among what others printed. */
static bool is_within_logs(const struct format *format)
{
    static const char *const names[] = {"bfc", "hbm_allocations", "hbm_report", "torch_message",
                                        "tpu_message"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(format->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* True if a story may be told of a text that this format recognised (NULL: none did).  Traces have
 * none: JSON is a log only where it wraps one.  A text with a NUL near its beginning has none
 * either. length > 0. */
static bool may_be_log(const char *text, size_t length, const struct format *format)
{
    const size_t looked_at = length < 4096 ? length : 4096;
    const bool is_data = memchr(text, '\0', looked_at) != NULL || text[0] == '\x80';
    return (format == NULL || is_within_logs(format)) && !is_data && log_is_text(text, length);
}

/* The lines of an excerpt become those of the file, also in notes "line 7: ...". */
static void map_lines(const struct log_excerpt *excerpt, struct import *import)
{
    char notes[IMPORT_NOTES_BYTES];
    size_t used = 0;
    import->message_line = log_excerpt_line(excerpt, import->message_line);
    memcpy(notes, import->notes, sizeof notes);
    for (const char *at = notes; *at != '\0' && used < sizeof notes - 1;) {
        const size_t length = strcspn(at, "\n");
        size_t line = 0;
        int number_end = 0;
        const bool has_line = sscanf(at, "line %zu:%n", &line, &number_end) == 1 && number_end > 0;
        if (has_line) {
            used += (size_t)snprintf(import->notes + used, sizeof notes - used,
                                     "line %zu:", log_excerpt_line(excerpt, line));
        }
        const size_t skipped = has_line ? (size_t)number_end : 0;
        used += used < sizeof notes ? (size_t)snprintf(import->notes + used, sizeof notes - used,
                                                       "%.*s%s", (int)(length - skipped),
                                                       at + skipped, at[length] == '\n' ? "\n" : "")
                                    : 0;
        at += length + (at[length] == '\n');
    }
}

/* Imports the lines of the source that failed first.  IMPORT_UNRECOGNISED where the text says the
 * same as it stands, or no format knows these lines alone. */
static enum import_result import_excerpt(const struct import_input *input,
                                         const struct import_formats *known,
                                         const struct log_story *story, struct import *import,
                                         struct import_error *error)
{
    const struct format *format = known->recognised;
    struct log_excerpt excerpt;
    struct import_input part = *input;
    if (!log_excerpt_take(story, known->parts, known->part_count, &excerpt)) {
        return IMPORT_UNRECOGNISED;
    }
    part.text = writing_string(&excerpt.text);
    part.length = excerpt.text.length;
    format = known->recognise != NULL ? known->recognise(part.text, part.length) : format;
    enum import_result result = IMPORT_UNRECOGNISED;
    if (format != NULL && is_within_logs(format) && format->recognise(part.text, part.length) > 0) {
        result = format->import(&part, import, error);
        error->line = log_excerpt_line(&excerpt, error->line);
        map_lines(&excerpt, import);
        import->format = format;
    }
    log_excerpt_deinit(&excerpt);
    return result;
}

/* The request that failed is in the step behind the last one that was printed.  Of what a compiler
 * found nothing is said: it compiles before the step that needs the program. */
static void say_step(const struct log_story *story, struct import *import)
{
    const struct log_event *first = &story->events[story->first];
    uint32_t failed = OP_NONE;
    for (size_t i = 0; i < import->said_count; i++) {
        failed = import->said[i].kind == SAID_FAILED ? import->said[i].op : failed;
    }
    import->setup.until_step = story->step_total > first->step ? story->step_total : 0;
    if (import->ops.count == 0 || first->form == LOG_FORM_COMPILE) {
        return;
    }
    const uint32_t last = (uint32_t)import->ops.count - 1;
    if (first->has_step && first->is_in_step && (failed == OP_NONE || failed == last)) {
        import_say(import, last, SAID_STEP, first->step);
    } else if (first->has_step && (failed == OP_NONE || failed == last)) {
        import_say(import, last, SAID_STEP, first->step + 1);
        import_assume(import,
                      "the failure is in step %llu: step %llu is the last one printed before it",
                      (unsigned long long)first->step + 1, (unsigned long long)first->step);
    }
}

/* A log whose messages are warnings, or that tells of another failure, has none to import. */
static enum import_result fail_without_oom(const struct log_story *story,
                                           struct import_error *error)
{
    const struct log_event *first = &story->events[story->first];
    return import_fail(error, IMPORT_INCOMPLETE, first->line, 0,
                       "%s; hbmstress explain prints what the log tells",
                       story->verdict == LOG_VERDICT_RECOVERED
                           ? "the allocator's warnings are no failure: each request was served"
                           : "the log tells of a failure, but of no out-of-memory of the device");
}

static bool has_warnings(const struct log_story *story)
{
    for (size_t i = 0; i < story->event_count; i++) {
        if (story->events[i].kind == LOG_EVENT_RETRY) {
            return true;
        }
    }
    return false;
}

/* Imports the log of which this is the story, not a verdict of nothing: the lines of the source
 * that failed first; where no format knows these, the text of a log in one file as it stands, by
 * the format that recognised it.  Lines in errors and notes are the file's.  Refused is what tells
 * of no out-of-memory of a device. */
static enum import_result import_log(const struct import_input *input,
                                     const struct import_formats *known,
                                     const struct log_story *story, struct import *import,
                                     struct import_error *error)
{
    const struct format *recognised = known->recognised;
    enum import_result result = IMPORT_UNRECOGNISED;
    if (story->verdict == LOG_VERDICT_OOM) {
        result = import_excerpt(input, known, story, import, error);
    }
    if (result != IMPORT_OK && recognised != NULL && story->file_count == 0) {
        import_deinit(import);
        import_init(import);
        result = recognised->import(input, import, error);
        import->format = recognised;
    }
    if (result == IMPORT_OK && story->verdict == LOG_VERDICT_OOM) {
        say_step(story, import);
    } else if (result == IMPORT_OK && story->verdict != LOG_VERDICT_NOTHING &&
               strcmp(import->format->name, "hbm_allocations") != 0 && has_warnings(story)) {
        result = fail_without_oom(story, error);
    }
    return result;
}

const struct format *const formats[] = {
#define FORMAT(room, name) &format_##name,
#include "formats/list.h"
#undef FORMAT
    NULL,
};

const struct format *format_find(const char *name)
{
    for (size_t i = 0; formats[i] != NULL; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            return formats[i];
        }
    }
    return NULL;
}

const struct format *format_recognise(const char *text, size_t length)
{
    const struct format *best = NULL;
    unsigned best_score = 0;
    for (size_t i = 0; formats[i] != NULL; i++) {
        const unsigned score = formats[i]->recognise(text, length);
        CHECK(score <= 100);
        if (score > best_score) {
            best = formats[i];
            best_score = score;
        }
    }
    return best;
}

static void print_format_names(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; formats[i] != NULL && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ",
                                 formats[i]->name);
    }
}

static void fail_unrecognised(const char *text, size_t length, const char *names,
                              struct import_error *error)
{
    static const char own[] = EXPORT_CSV_HEADER;
    if (length >= strlen(own) && memcmp(text, own, strlen(own)) == 0) {
        import_fail(
            error, IMPORT_UNRECOGNISED, 0, 0,
            "'convert --to csv' wrote this table, and no importer reads it; convert to run_ops, torch_snapshot or rmm instead");
        return;
    }
    import_fail(error, IMPORT_UNRECOGNISED, 0, 0,
                "no format recognises this text; known formats: %s", names);
}

static const struct format *choose_format(const char *text, size_t length, const char *name,
                                          struct import_error *error)
{
    char names[IMPORT_REASON_BYTES / 4 * 3];
    print_format_names(names, sizeof names);
    if (name != NULL && strcmp(name, "auto") != 0) {
        const struct format *format = format_find(name);
        if (format == NULL) {
            import_fail(error, IMPORT_UNRECOGNISED, 0, 0, "unknown format '%s'; valid are auto, %s",
                        name, names);
        }
        return format;
    }
    const struct format *format = format_recognise(text, length);
    if (format == NULL) {
        fail_unrecognised(text, length, names, error);
    }
    return format;
}

#define GRANULE_BYTES_MAX UINT64_C(65536) /* as in .ops files */

/* "\xEF\xBB\xBF": editors on Windows put it in front of UTF-8. */
static size_t measure_byte_order_mark(const char *text, size_t length)
{
    return length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* A report of which no list can be made is told all the same. */
static void empty_failed(struct import *import)
{
    struct import kept;
    import_init(&kept);
    memcpy(kept.message, import->message, sizeof kept.message);
    kept.message_line = import->message_line;
    memcpy(kept.assumed, import->assumed, sizeof kept.assumed);
    kept.compile_report = import->compile_report;
    import->compile_report = NULL;
    import_deinit(import);
    *import = kept;
}

/* A list of no ops is none, but for .ops files: an empty one is a run of no ops. */
static enum import_result check_ops(const struct import *import, struct import_error *error)
{
    if (import->ops.count == 0 && import->format != &format_ops) {
        return IMPORT_LACKS(error,
                            "the file has nothing to replay: no memory in use, and no request");
    }
    return IMPORT_OK;
}

/* Imports a text that is not empty. */
static enum import_result import_input(const struct import_input *input, const char *format_name,
                                       struct import *import, struct log_story *story,
                                       struct import_error *error)
{
    const bool is_named = format_name != NULL && strcmp(format_name, "auto") != 0;
    const struct format *format = choose_format(input->text, input->length, format_name, error);
    const struct log_part part = {input->text, input->length, NULL, NULL, LOG_RANK_NONE};
    const struct import_formats chosen = {format, is_named ? NULL : format_recognise, &part, 1};
    enum import_result result = IMPORT_UNRECOGNISED;
    if ((format != NULL || !is_named) && may_be_log(input->text, input->length, format)) {
        log_story_read(&part, 1, story);
    }
    if (story->verdict != LOG_VERDICT_NOTHING) {
        result = import_log(input, &chosen, story, import, error);
    } else if (format != NULL) {
        result = format->import(input, import, error);
        import->format = format;
    }
    return result == IMPORT_OK ? check_ops(import, error) : result;
}

/* Returns an input with the options, but without the text. */
static struct import_input input_of(const struct import_options *options)
{
    static const struct setup nothing; /* all empty */
    return (struct import_input){
        .text = "",
        .fixed = options != NULL && options->fixed != NULL ? options->fixed : &nothing,
        .kv_bytes_per_token = options != NULL ? options->kv_bytes_per_token : 0,
        .kv_tokens_per_second = options != NULL ? options->kv_tokens_per_second : 0,
        .with_stacks = options != NULL && options->with_stacks,
    };
}

/* Empties what is replaced. */
static enum import_result begin_import(const struct import_input *input, struct import *import,
                                       struct log_story *story, struct import_error *error)
{
    const uint64_t granule_bytes = input->fixed->granule_bytes;
    import_deinit(import);
    import_init(import);
    log_story_deinit(story);
    return (granule_bytes & (granule_bytes - 1)) != 0 || granule_bytes > GRANULE_BYTES_MAX
               ? IMPORT_REFUSE(error, 0, "the granule is not a power of two up to 64K")
               : IMPORT_OK;
}

enum import_result import_text_and_log(const char *text, size_t length, const char *format_name,
                                       const struct import_options *options, struct import *import,
                                       struct log_story *story, struct import_error *error)
{
    const size_t skipped = measure_byte_order_mark(text, length);
    struct import_input input = input_of(options);
    input.text = text + skipped;
    input.length = length - skipped;
    if (begin_import(&input, import, story, error) != IMPORT_OK) {
        return IMPORT_INVALID;
    }
    if (input.length == 0) {
        return IMPORT_LACKS(error, "the file is empty");
    }
    const enum import_result result = import_input(&input, format_name, import, story, error);
    if (result != IMPORT_OK) {
        empty_failed(import);
    }
    return result;
}

enum import_result import_text(const char *text, size_t length, const char *format_name,
                               const struct import_options *options, struct import *import,
                               struct import_error *error)
{
    struct log_story story;
    log_story_init(&story);
    const enum import_result result = import_text_and_log(text, length, format_name, options,
                                                          import, &story, error);
    log_story_deinit(&story);
    return result;
}

enum import_result import_file_and_log(const char *path, const char *format_name,
                                       const struct import_options *options, struct import *import,
                                       struct log_story *story, struct import_error *error)
{
    struct text text;
    enum import_result result = text_read(path, IMPORT_BYTES_MAX, &text, error);
    if (result == IMPORT_OK) {
        result = import_text_and_log(text.bytes, text.length, format_name, options, import, story,
                                     error);
        text_deinit(&text);
    }
    return result;
}

/* The files as parts of one log; the caller frees them, not what they refer to. */
static struct log_part *list_parts(const struct log_files *files)
{
    struct log_part *parts = calloc(files->count, sizeof *parts);
    CHECK(parts != NULL);
    for (size_t i = 0; i < files->count; i++) {
        const struct log_file *file = &files->files[i];
        parts[i] = (struct log_part){file->text.bytes, file->text.length, file->name, file->source,
                                     file->rank};
    }
    return parts;
}

static enum import_result import_files(const struct log_files *files,
                                       const struct import_input *input, const char *format_name,
                                       struct import *import, struct log_story *story,
                                       struct import_error *error)
{
    const bool is_named = format_name != NULL && strcmp(format_name, "auto") != 0;
    const struct format *format = is_named ? choose_format("", 0, format_name, error) : NULL;
    if (is_named && format == NULL) {
        return IMPORT_UNRECOGNISED;
    }
    struct log_part *parts = list_parts(files);
    const struct import_formats chosen = {format, is_named ? NULL : format_recognise, parts,
                                          files->count};
    log_story_read(parts, files->count, story);
    story->files_left_out_count = files->left_out_count;
    memcpy(story->files_left_out, files->left_out, sizeof story->files_left_out);
    enum import_result result = story->verdict == LOG_VERDICT_NOTHING
                                    ? IMPORT_LACKS(error,
                                                   "its %zu log%s no failure and nobody who waits",
                                                   files->count,
                                                   files->count == 1 ? " tells of" : "s tell of")
                                    : import_log(input, &chosen, story, import, error);
    free(parts);
    return result == IMPORT_OK ? check_ops(import, error) : result;
}

enum import_result import_directory_and_log(const char *path, const char *format_name,
                                            const struct import_options *options,
                                            struct import *import, struct log_story *story,
                                            struct import_error *error)
{
    const struct import_input input = input_of(options);
    struct log_files files;
    if (begin_import(&input, import, story, error) != IMPORT_OK) {
        return IMPORT_INVALID;
    }
    enum import_result result = log_files_read(path, &files, error);
    if (result == IMPORT_OK) {
        result = import_files(&files, &input, format_name, import, story, error);
        log_files_deinit(&files);
    }
    if (result != IMPORT_OK) {
        empty_failed(import);
    }
    return result;
}

enum import_result import_file(const char *path, const char *format_name,
                               const struct import_options *options, struct import *import,
                               struct import_error *error)
{
    struct log_story story;
    log_story_init(&story);
    const enum import_result result = import_file_and_log(path, format_name, options, import,
                                                          &story, error);
    log_story_deinit(&story);
    return result;
}
