/* One line of a log, taken apart: who printed it, when, and its own words.  What loggers, launchers
 * and containers put in front may be stacked: "0: (EngineCore pid=7) ERROR 04-30 22:40:27
 * [core.py:1136] ". */
#ifndef FORMATS_LOG_LOG_LINE_H
#define FORMATS_LOG_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_SOURCE_BYTES = 112, LOG_TIME_TEXT_BYTES = 32 };
#define LOG_RANK_NONE UINT32_MAX

/* The clock that a time is from.  A container or a collector may stamp a line minutes later than
 * the program does, so times of two clocks are not compared. */
enum log_clock {
    LOG_CLOCK_NONE = 0,
    LOG_CLOCK_COLLECTOR, /* in front of what the program printed */
    LOG_CLOCK_PROGRAM
};

/* A time within a year: many prefixes have no year.  Ordered by time_ns; differences are right
 * within a month. */
struct log_time {
    enum log_clock clock;
    uint64_t time_ns; /* 0 where the clock is NONE */
};

struct log_line {
    const char *at; /* the line without colours and line end */
    size_t length;
    size_t label_bytes;            /* of the line, in front: its source, the collector's stamp */
    size_t prefix_bytes;           /* those, and what the program's logger put in front */
    char source[LOG_SOURCE_BYTES]; /* "rank 3", "EngineCore pid=7", "task 0, RayWorker pid=9"; "" =
                                      the line does not say */
    uint32_t rank;                 /* of that source, or LOG_RANK_NONE */
    uint64_t pid;                  /* 0 = not said */
    struct log_time time;
    uint32_t
        repeated_count; /* "[repeated 3x across cluster]": so many more printed it; usually 0 */
};

/* Takes a line apart.  has_task_labels: a number and a colon in front are srun's label.  *line
 * refers to text.  Any bytes are allowed.  O(length). */
void log_line_split(const char *text, size_t length, bool has_task_labels, struct log_line *line);

/* Reads an RFC 3339 time, and nothing else, as the collector's. */
bool log_time_parse(const char *text, size_t length, struct log_time *time);
/* "04-30 22:40:27"; "" where none is known. */
const char *log_time_print(const struct log_time *time, char text[LOG_TIME_TEXT_BYTES]);

#endif
