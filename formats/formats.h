/* Field logs and traces come in here: each format recognises its own text and turns it into a setup
 * and a list of ops, or says in one line which fact is missing or wrong, and where. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "formats/common/import.h"
#include "formats/log/log_story.h"

/* The settings that the user fixed.  Zero-initialise, then set. */
struct import_options {
    /* Non-empty fields win over what the text says or the format would assume: chip,
     * capacity_bytes, granule_bytes, target ("" = not fixed), options.  NULL: nothing is fixed. */
    const struct setup *fixed;
    /* Both are for request traces (formats/generic/azure_llm.c), which do not give them; 0 = a
     * default, which the notes name. */
    uint64_t kv_bytes_per_token, kv_tokens_per_second;
    /* Formats that have them set import->stacks, which takes time and memory. */
    bool with_stacks;
};

/* Each format is one file, and one line in formats/list.h. */
#define FORMAT(room, name) extern const struct format format_##name;
#include "formats/list.h"
#undef FORMAT
/* Every format; ends with NULL. */
extern const struct format *const formats[];

/* NULL when there is none of that name. */
const struct format *format_find(const char *name);
/* The surest one; on equal scores the first of the table.  NULL: none recognises it. */
const struct format *format_recognise(const char *text, size_t length);

/* Imports a text.  format_name "auto" or NULL: the surest format.  options may be NULL.  import
 * must be initialised; it is replaced.  After a failure it is empty again, but for the
 * report of a compiler of which no list can be made, its words and what is assumed of it. */
enum import_result import_text(const char *text, size_t length, const char *format_name,
                               const struct import_options *options, struct import *import,
                               struct import_error *error);

/* Does the same for a file ("-": standard input): plain, gzip or zstd (told apart by content), up
 * to IMPORT_BYTES_MAX bytes of text. */
#define IMPORT_BYTES_MAX ((size_t)64 << 30)
enum import_result import_file(const char *path, const char *format_name,
                               const struct import_options *options, struct import *import,
                               struct import_error *error);

/* The same, with what the text tells as the log of a job: which source failed first, and how.  Of a
 * log the lines of that source are imported.  story must be initialised; it is replaced, whatever
 * comes of the import: its verdict is LOG_VERDICT_NOTHING where the text is no log, or tells
 * nothing. */
enum import_result import_text_and_log(const char *text, size_t length, const char *format_name,
                                       const struct import_options *options, struct import *import,
                                       struct log_story *story, struct import_error *error);
enum import_result import_file_and_log(const char *path, const char *format_name,
                                       const struct import_options *options, struct import *import,
                                       struct log_story *story, struct import_error *error);
/* Does the same for a directory whose files are one log (formats/log/log_files.h).
 * IMPORT_INCOMPLETE: none of them tells of a failure, or of waiting. */
enum import_result import_directory_and_log(const char *path, const char *format_name,
                                            const struct import_options *options,
                                            struct import *import, struct log_story *story,
                                            struct import_error *error);

#endif
