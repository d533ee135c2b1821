#include "formats/formats.h"

#include "formats/common/text.h"
#include "formats/export/export.h"
#include "formats/log/log_files.h"
#include "formats/private/import_log.h"
#include "harness/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            "'export --format csv' wrote this table, and no importer reads it; export as ops, torch_snapshot or rmm instead");
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
        return import_fail(error, IMPORT_INCOMPLETE, 0, 0,
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
    if ((format != NULL || !is_named) && import_log_may_be(input->text, input->length, format)) {
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

/* With the options, but without the text. */
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
               ? import_fail(error, IMPORT_INVALID, 0, 0,
                             "the granule is not a power of two up to 64K")
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
        return import_fail(error, IMPORT_INCOMPLETE, 0, 0, "the file is empty");
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
                                    ? import_fail(error, IMPORT_INCOMPLETE, 0, 0,
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
