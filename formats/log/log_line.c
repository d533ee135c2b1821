/* The prefix says who and when (formats/common/log_prefix.h); this puts its parts together. */
#include "formats/log/log_line.h"

#include "formats/common/cursor.h"
#include "formats/common/log_prefix.h"
#include "harness/base/writing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void set_time(const struct log_prefix_part *part, enum log_clock clock,
                     struct log_time *time)
{
    const uint64_t days = (part->month - 1) * 31 + part->day - 1;
    const uint64_t seconds = ((days * 24 + part->hour) * 60 + part->minute) * 60 + part->second;
    if (clock >= time->clock) { /* the program's wins */
        time->clock = clock;
        time->time_ns = seconds * 1000000000 + part->fraction_ns;
    }
}

static void add_source(struct log_line *line, const char *label, size_t length)
{
    size_t used = strlen(line->source);
    if (used > 0 && used + 2 < sizeof line->source) {
        memcpy(line->source + used, ", ", 2);
        used += 2;
    }
    const char *end = memchr(label, '\0', length);
    const size_t room = sizeof line->source - 1 - used;
    const size_t wanted = end == NULL ? length : (size_t)(end - label);
    const size_t count = wanted < room ? wanted : room;
    memcpy(line->source + used, label, count);
    line->source[used + count] = '\0';
}

/* "rank 3", without a format: most lines of a log have one. */
static size_t print_numbered(const char *word, uint64_t number, char name[32])
{
    char digits[WRITING_DIGIT_COUNT_MAX];
    const size_t length = strlen(word);
    const size_t count = writing_print_digits(number, digits);
    memcpy(name, word, length);
    memcpy(name + length, digits + sizeof digits - count, count);
    return length + count;
}

/* "TP3", "DP0 TP3" of SGLang, "Worker_TP1": a rank where it is the only number. */
static void find_rank_in(const char *label, size_t length, struct log_line *line)
{
    uint64_t rank;
    if (log_prefix_find_number(label, length, "rank=", &rank) ||
        (log_prefix_find_number(label, length, "TP", &rank) && !text_has(label, length, "DP") &&
         !text_has(label, length, "PP"))) {
        line->rank = (uint32_t)rank;
    }
    (void)log_prefix_find_number(label, length, "pid=", &line->pid);
}

static void keep_part(const struct log_prefix_part *part, struct log_line *line)
{
    char name[32];
    if (part->has_clock) {
        set_time(part, part->kind == LOG_PREFIX_STAMP ? LOG_CLOCK_COLLECTOR : LOG_CLOCK_PROGRAM,
                 &line->time);
    }
    if (part->has_rank) {
        add_source(
            line, name,
            print_numbered(part->kind == LOG_PREFIX_TASK ? "task " : "rank ", part->rank, name));
        line->rank = (uint32_t)part->rank;
    } else if (part->kind == LOG_PREFIX_LABEL) {
        add_source(line, part->label, part->label_length);
        find_rank_in(part->label, part->label_length, line);
    } else if (part->label != NULL && (text_has(part->label, part->label_length, " TP") ||
                                       text_has(part->label, part->label_length, " DP") ||
                                       text_has(part->label, part->label_length, " PP"))) {
        /* SGLang or DeepSpeed put ranks behind the time: only those are a label. */
        add_source(line, part->label + 1, part->label_length - 1);
        find_rank_in(part->label, part->label_length, line);
    }
}

/* "... [repeated 3x across cluster]" at the end. */
static void split_repetition(struct log_line *line)
{
    static const char word[] = "[repeated ";
    const size_t tail = line->length < 64 ? line->length : 64;
    uint64_t count = 0;
    const char *begin = line->at + line->length - tail;
    const char *found = memchr(begin, ']', tail) == NULL
                            ? NULL
                            : memmem(begin, tail, word, sizeof word - 1);
    if (found == NULL) {
        return;
    }
    const size_t left = (size_t)(line->at + line->length - found);
    if (log_prefix_find_number(found, left, "[repeated ", &count) && count <= UINT32_MAX) {
        line->repeated_count = (uint32_t)count;
        line->length = (size_t)(found - line->at);
    }
}

void log_line_split(const char *text, size_t length, bool has_task_labels, struct log_line *line)
{
    line->at = text;
    line->length = length;
    line->label_bytes = 0;
    line->source[0] = '\0';
    line->rank = LOG_RANK_NONE;
    line->pid = 0;
    line->time = (struct log_time){0};
    line->repeated_count = 0;
    split_repetition(line);
    struct log_prefix prefix = log_prefix_begin(text, line->length, has_task_labels);
    struct log_prefix_part part;
    bool has_logger = false;
    while (log_prefix_next(&prefix, &part)) {
        keep_part(&part, line);
        has_logger = has_logger || part.kind == LOG_PREFIX_LOGGER;
        if (!has_logger) {
            line->label_bytes = (size_t)(prefix.at - text);
        }
    }
    line->prefix_bytes = (size_t)(prefix.at - text);
}

bool log_time_parse(const char *text, size_t length, struct log_time *time)
{
    struct log_prefix prefix = log_prefix_begin(text, length, false);
    struct log_prefix_part part;
    if (!log_prefix_next(&prefix, &part) || part.kind != LOG_PREFIX_STAMP ||
        prefix.at != text + length || prefix.at[-1] == ' ' || prefix.at[-1] == '\t') {
        return false;
    }
    *time = (struct log_time){0};
    set_time(&part, LOG_CLOCK_COLLECTOR, time);
    return true;
}

const char *log_time_print(const struct log_time *time, char text[LOG_TIME_TEXT_BYTES])
{
    const uint64_t seconds = time->time_ns / 1000000000;
    const uint64_t days = seconds / 86400;
    text[0] = '\0';
    if (time->clock != LOG_CLOCK_NONE) {
        snprintf(text, LOG_TIME_TEXT_BYTES,
                 "%02" PRIu64 "-%02" PRIu64 " %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
                 days / 31 + 1, days % 31 + 1, seconds / 3600 % 24, seconds / 60 % 60,
                 seconds % 60);
    }
    return text;
}
