/* The text of a log, line by line, out of whatever wraps it: entries of a structured log are put in
 * the order of their times, and each line knows its line in the file. */
#ifndef FORMATS_LOG_PRIVATE_LOG_TEXT_H
#define FORMATS_LOG_PRIVATE_LOG_TEXT_H

#include "formats/log/log_line.h"
#include "harness/base/writing.h"

/* One entry of a structured log. */
struct log_entry {
    size_t begin;       /* of its text in the bytes of the log_text; ascending */
    size_t line;        /* of the file, from 1 */
    const char *source; /* who wrote it, such as "pod train-0"; "" = not said; the log_text's */
    struct log_time time;
};

/* The text of a plain log is the file's, and it has no entries. */
struct log_text {
    const char *bytes;
    size_t length;
    struct log_entry *entries;
    size_t entry_count;
    size_t left_out_count; /* what is no entry, or one that came twice */
    /* what it owns */
    struct writing unwrapped;
    char **sources;
    size_t source_count;
};

/* Unwraps text, which must outlive it. Linear but for sorting the entries. */
void log_text_init(struct log_text *text, const char *bytes, size_t length);
void log_text_deinit(struct log_text *text);

/* Goes through the lines.  A carriage return ends a line as a line feed does, since progress bars
 * are parted by it, and so does the label of a rank in the middle of one. */
struct log_walk {
    const struct log_text *text;
    size_t at;                   /* in its bytes */
    size_t line;                 /* of a plain text, from 1 */
    size_t next_entry;           /* of a structured one */
    size_t feed_at, carriage_at; /* the next of each from `at` on, or the length */
    struct writing clean;
};
struct log_fragment {
    const char *at; /* without colours; valid until the next one */
    size_t length;
    size_t line;                   /* of the file, from 1 */
    const struct log_entry *entry; /* NULL in a plain text */
};
void log_walk_init(struct log_walk *walk, const struct log_text *text);
void log_walk_deinit(struct log_walk *walk);
/* False at the end. */
bool log_walk_next(struct log_walk *walk, struct log_fragment *fragment);

#endif
