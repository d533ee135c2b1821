/* The text of a log, line by line, out of whatever wraps it: entries of a structured log are put in
 * the order of their times, and each line knows its line in the file. */
#ifndef FORMATS_LOG_PRIVATE_LOG_TEXT_H
#define FORMATS_LOG_PRIVATE_LOG_TEXT_H

#include "formats/log/log_story.h"
#include "harness/base/writing.h"

/* A part of a log: an entry of a structured one, or else a whole file. */
struct log_entry {
    const char *bytes;
    size_t length;
    size_t line;        /* of its first, or of the entry in its file; from 1 */
    bool counts_lines;  /* its lines are the file's; otherwise all of them stand in `line` */
    const char *source; /* who wrote it, such as "pod train-0"; "" = not said */
    uint32_t rank;      /* of that source, or LOG_RANK_NONE */
    uint32_t file;      /* index of the part of the log that it is of */
    struct log_time time;
};

struct log_text {
    struct log_entry *entries; /* entry_count of them, in the order in which they are read */
    size_t entry_count;
    bool is_structured;    /* some part is */
    size_t left_out_count; /* what is no entry, or one that came twice */
    /* what it owns */
    struct writing *unwrapped; /* of each part */
    size_t part_count;
    char **sources;
    size_t source_count, entry_room;
};

/* Unwraps the parts, which must outlive it. Linear but for sorting the entries of each. */
void log_text_init(struct log_text *text, const struct log_part *parts, size_t count);
void log_text_deinit(struct log_text *text);

/* Goes through the lines.  A carriage return ends a line as a line feed does, since progress bars
 * are parted by it, and so does the label of a rank in the middle of one. */
struct log_walk {
    const struct log_text *text;
    size_t entry;                /* that is read */
    size_t at;                   /* in its bytes */
    size_t line;                 /* of its file */
    size_t feed_at, carriage_at; /* the next of each from `at` on, or its length */
    struct writing clean;
};
struct log_fragment {
    const char *at; /* without colours; valid until the next one */
    size_t length;
    size_t line; /* of the file, from 1 */
    const struct log_entry *entry;
};
void log_walk_init(struct log_walk *walk, const struct log_text *text);
void log_walk_deinit(struct log_walk *walk);
/* False at the end. */
bool log_walk_next(struct log_walk *walk, struct log_fragment *fragment);

#endif
