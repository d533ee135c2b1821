/* How a whole log reaches the importers. */
#ifndef FORMATS_PRIVATE_IMPORT_LOG_H
#define FORMATS_PRIVATE_IMPORT_LOG_H

#include "formats/common/import.h"
#include "formats/log/log_story.h"

/* Whether a story may be told of a text that this format recognised (NULL: none did).  Of traces
 * there is none: JSON is a log only where it wraps one, and so is nothing that has a NUL near its
 * beginning. length > 0. */
bool import_log_may_be(const char *text, size_t length, const struct format *format);

/* Imports the log of which this is the story, not a verdict of nothing: the lines of the source
 * that failed first; where no format knows these, the text of a log in one file as it stands, by
 * the format that recognised it. Lines in errors and notes are the file's.  Refused is what tells
 * of no out-of-memory of a device. */
struct import_formats {
    const struct format *recognised;                                    /* NULL: none did */
    const struct format *(*recognise)(const char *text, size_t length); /* NULL: it was named */
    const struct log_part *parts;                                       /* part_count of the log */
    size_t part_count;
};
enum import_result import_log(const struct import_input *input,
                              const struct import_formats *formats, const struct log_story *story,
                              struct import *import, struct import_error *error);

#endif
