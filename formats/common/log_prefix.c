/* The parts of a prefix are patterns: a table that is tried again behind each part. */
#include "formats/common/log_prefix.h"

#include <stdbool.h>
#include <string.h>

enum { PREFIX_BYTES_MAX = 512, PART_COUNT_MAX = 12 };

/* In a pattern a blank stands for one or more, and
 *     %d  a digit                    %n  digits                   %f  a fraction, or nothing
 *     %z  a time zone, or nothing    %p  a path or name           %S  the letter of a severity
 *     %L  the word of a severity     %r  a process in words       %a  any text up to a ']'
 *     %c  what a colour is made of   %b  one blank, or the end of the line
 * Others stand for themselves. */
#define DATE "%d%d%d%d-%d%d-%d%d"
#define CLOCK "%d%d:%d%d:%d%d"
static const struct part {
    const char *pattern;
    enum { ANYWHERE, FIRST, BEHIND } place; /* among the parts of the line */
} parts[] = {
    {"\033[%cm", ANYWHERE},                          /* a colour */
    {"%n:%b", FIRST},                                /* srun --label */
    {DATE "T" CLOCK "%f%z%b", ANYWHERE},             /* a container's stamp */
    {DATE " " CLOCK "%f: %S %p:%n]%b", ANYWHERE},    /* TensorFlow */
    {DATE " " CLOCK "%f%z - %p - %L -%b", ANYWHERE}, /* Python's logging */
    {DATE " " CLOCK "%f%z - %L -%b", ANYWHERE},
    {DATE " " CLOCK "%f%z -%b", ANYWHERE},
    {DATE " " CLOCK "%f%z:%b", ANYWHERE},
    {DATE " " CLOCK "%f%z%b", ANYWHERE},
    {"(%r)%b", ANYWHERE}, /* vLLM, Ray */
    {"(%r)\033[%cm%b", ANYWHERE},
    {"%L %d%d-%d%d " CLOCK " [%p:%n]%b", ANYWHERE}, /* vLLM */
    {"%L %d%d-%d%d " CLOCK " %p:%n]%b", ANYWHERE},
    {"[rank%n]:%b", ANYWHERE}, /* PyTorch */
    {"[rank%n]:", ANYWHERE},
    {"[%S%n " CLOCK "%f %p:%n]%b", ANYWHERE},
    {"%S%d%d%d%d " CLOCK "%f %n %p:%n]%b", ANYWHERE}, /* absl */
    {"[" DATE " " CLOCK "%a]%b", ANYWHERE},           /* SGLang, DeepSpeed */
    {"[%L]%b", ANYWHERE},
    {"[%p:%n:%p]%b", BEHIND},
    {"[%p:%n]%b", BEHIND},
    {"%L:%b", BEHIND},
    {"%L -%b", BEHIND},
};
enum { PART_COUNT = sizeof parts / sizeof parts[0] };

/* A place in the line. */
struct place {
    const char *at, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_path(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("_./-<>@+", c) != NULL);
}

static bool skip_while(struct place *place, bool (*is_wanted)(char c))
{
    const char *begin = place->at;
    while (place->at < place->end && is_wanted(*place->at)) {
        place->at++;
    }
    return place->at > begin;
}

static bool skip_one(struct place *place, const char *wanted)
{
    if (place->at == place->end || *place->at == '\0' || strchr(wanted, *place->at) == NULL) {
        return false;
    }
    place->at++;
    return true;
}

static bool skip_blanks(struct place *place)
{
    const char *begin = place->at;
    while (skip_one(place, " \t")) {
        continue;
    }
    return place->at > begin;
}

/* "Z", "+02:00", "-0700". */
static void skip_zone(struct place *place)
{
    struct place ahead = *place;
    if (skip_one(&ahead, "Z")) {
        *place = ahead;
        return;
    }
    if (skip_one(&ahead, "+-") && skip_while(&ahead, is_digit)) {
        *place = ahead;
        (void)(skip_one(place, ":") && skip_while(place, is_digit));
    }
}

static void skip_fraction(struct place *place)
{
    struct place ahead = *place;
    if (skip_one(&ahead, ".,") && skip_while(&ahead, is_digit)) {
        *place = ahead;
    }
}

static bool skip_level(struct place *place)
{
    static const char *const levels[] = {"DEBUG", "INFO",  "WARNING",  "WARN",
                                         "ERROR", "FATAL", "CRITICAL", "TRACE"};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        const size_t length = strlen(levels[i]);
        if ((size_t)(place->end - place->at) >= length &&
            memcmp(place->at, levels[i], length) == 0) {
            place->at += length;
            return true;
        }
    }
    return false;
}

static bool is_colour(char c)
{
    return is_digit(c) || c == ';';
}

static bool is_in_brackets(char c)
{
    return c != ']';
}

/* "EngineCore_0 pid=7", "RayTrainWorker pid=7, ip=10.0.0.1", "VllmWorker rank=1 pid=7". */
static bool skip_process(struct place *place)
{
    const size_t left = (size_t)(place->end - place->at);
    const char *close = memchr(place->at, ')', left);
    if (close == NULL || place->at == close || is_digit(*place->at)) {
        return false;
    }
    const size_t length = (size_t)(close - place->at);
    const char *process = memmem(place->at, length, "pid=", 4);
    const char *rank = memmem(place->at, length, "rank=", 5);
    if ((process == NULL || !is_digit(process[4])) && (rank == NULL || !is_digit(rank[5]))) {
        return false;
    }
    place->at = close;
    return true;
}

static bool skip_code(struct place *place, char code)
{
    switch (code) {
    case 'd':
        return skip_one(place, "0123456789");
    case 'n':
        return skip_while(place, is_digit);
    case 'p':
        return skip_while(place, is_path);
    case 'S':
        return skip_one(place, "DIWEFC");
    case 'L':
        return skip_level(place);
    case 'r':
        return skip_process(place);
    case 'f':
        skip_fraction(place);
        return true;
    case 'z':
        skip_zone(place);
        return true;
    case 'c':
        (void)skip_while(place, is_colour);
        return true;
    case 'a':
        (void)skip_while(place, is_in_brackets);
        return true;
    default: /* 'b' */
        return place->at == place->end || skip_one(place, " \t");
    }
}

/* Goes behind what matches the pattern. */
static bool skip_pattern(struct place *place, const char *pattern)
{
    struct place ahead = *place;
    for (; *pattern != '\0'; pattern++) {
        bool is_matched = false;
        if (*pattern == '%') {
            is_matched = skip_code(&ahead, *++pattern);
        } else if (*pattern == ' ') {
            is_matched = skip_blanks(&ahead);
        } else if (ahead.at < ahead.end && *ahead.at == *pattern) {
            ahead.at++;
            is_matched = true;
        }
        if (!is_matched) {
            return false;
        }
    }
    *place = ahead;
    return true;
}

static bool skip_part(struct place *place, bool is_first)
{
    for (size_t i = 0; i < PART_COUNT; i++) {
        const bool is_here = parts[i].place == ANYWHERE || (parts[i].place == FIRST) == is_first;
        if (is_here && skip_pattern(place, parts[i].pattern)) {
            return true;
        }
    }
    return false;
}

size_t log_prefix_length(const char *line, size_t length)
{
    const size_t looked_at = length < PREFIX_BYTES_MAX ? length : PREFIX_BYTES_MAX;
    const char *line_break = memchr(line, '\n', looked_at);
    struct place place = {line, line_break == NULL ? line + looked_at : line_break};
    for (int i = 0; i < PART_COUNT_MAX && skip_part(&place, i == 0); i++) {
        continue;
    }
    return (size_t)(place.at - line);
}
