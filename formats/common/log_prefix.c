/* The parts of a prefix are patterns: a table that is tried again behind each part. */
#include "formats/common/log_prefix.h"

#include <string.h>

enum { PREFIX_BYTES_MAX = 512, PART_COUNT_MAX = 12, LABEL_BYTES_MAX = 96 };

/* In a pattern a blank stands for one or more, and
 *     %n  digits                 %f  a fraction, or nothing     %z  a time zone, or nothing
 *     %p  a path or name         %S  the letter of a severity   %L  the word of a severity
 *     %b  one blank, or the end  %o  blanks, or nothing         %x  month and day in 3 or 4 digits
 *     %Y %M %D %h %m %s          the parts of a time            %R  a rank, or the number of a task
 *     %r  a process in words     %P  text up to a ']'           %c  what a colour is made of
 * Others stand for themselves. */
#define DATE "%Y-%M-%D"
#define CLOCK "%h:%m:%s"
static const struct prefix_pattern {
    const char *text;
    enum log_prefix_kind kind;
    enum { ANYWHERE, FIRST, BEHIND } place; /* among the parts of the line */
} patterns[] = {
    {"\033[%cm", LOG_PREFIX_COLOUR, ANYWHERE},
    {"%o%R:%b", LOG_PREFIX_TASK, FIRST},                   /* srun --label */
    {DATE "T" CLOCK "%f%z%b", LOG_PREFIX_STAMP, ANYWHERE}, /* a container, a CI job */
    {"[pod/%P]%b", LOG_PREFIX_LABEL, ANYWHERE},            /* kubectl logs --prefix */
    {"(%r)%b", LOG_PREFIX_LABEL, ANYWHERE},                /* vLLM, Ray */
    {"(%r)\033[%cm%b", LOG_PREFIX_LABEL, ANYWHERE},
    {"[rank%R]:%b", LOG_PREFIX_LABEL, ANYWHERE}, /* PyTorch */
    {"[rank%R]:", LOG_PREFIX_LABEL, ANYWHERE},
    {"[default%R]:%b", LOG_PREFIX_LABEL, ANYWHERE}, /* torchrun --tee */
    {"[default%R]:", LOG_PREFIX_LABEL, ANYWHERE},
    {"[%n,%R]<stdout>:", LOG_PREFIX_LABEL, ANYWHERE}, /* mpirun --tag-output */
    {"[%n,%R]<stderr>:", LOG_PREFIX_LABEL, ANYWHERE},
    {"%L %M-%D " CLOCK " [%p:%n]%b", LOG_PREFIX_LEVEL, ANYWHERE}, /* vLLM */
    {"%L %M-%D " CLOCK " %p:%n]%b", LOG_PREFIX_LEVEL, ANYWHERE},
    {"[%S%x " CLOCK "%f %p:%n]%b", LOG_PREFIX_LOGGER, ANYWHERE},        /* PyTorch in C++ */
    {"%S%x " CLOCK "%f %n %p:%n]%b", LOG_PREFIX_LOGGER, ANYWHERE},      /* absl */
    {DATE " " CLOCK "%f: %S %p:%n]%b", LOG_PREFIX_LOGGER, ANYWHERE},    /* TensorFlow */
    {"[" DATE " " CLOCK "%f%P]%b", LOG_PREFIX_LOGGER, ANYWHERE},        /* SGLang, DeepSpeed */
    {DATE " " CLOCK "%f%z - %p - %L -%b", LOG_PREFIX_LOGGER, ANYWHERE}, /* Python's logging */
    {DATE " " CLOCK "%f%z - %L -%b", LOG_PREFIX_LOGGER, ANYWHERE},
    {DATE " " CLOCK "%f%z -%b", LOG_PREFIX_LOGGER, ANYWHERE},
    {DATE " " CLOCK "%f%z:%b", LOG_PREFIX_LOGGER, ANYWHERE},
    {DATE " " CLOCK "%f%z%b", LOG_PREFIX_LOGGER, ANYWHERE},
    {"[%o%n.%n]%b", LOG_PREFIX_LOGGER, ANYWHERE}, /* the kernel */
    {"[%L]%b", LOG_PREFIX_LOGGER, ANYWHERE},
    {"[%p:%n:%p]%b", LOG_PREFIX_LOGGER, BEHIND},
    {"[%p:%n]%b", LOG_PREFIX_LOGGER, BEHIND},
    {"%L:%b", LOG_PREFIX_LOGGER, BEHIND},
    {"%L -%b", LOG_PREFIX_LOGGER, BEHIND},
};
enum { PATTERN_COUNT = sizeof patterns / sizeof patterns[0] };

/* A place in the line. */
struct prefix_place {
    const char *at, *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_path(char c)
{
    return is_digit(c) || is_letter(c) || (c >= '-' && c <= '/') || c == '_' || c == '<' ||
           c == '>' || c == '@' || c == '+';
}

static bool skip_while(struct prefix_place *place, bool (*is_wanted)(char c))
{
    const char *begin = place->at;
    while (place->at < place->end && is_wanted(*place->at)) {
        place->at++;
    }
    return place->at > begin;
}

static bool skip_one(struct prefix_place *place, const char *wanted)
{
    if (place->at == place->end || *place->at == '\0' || strchr(wanted, *place->at) == NULL) {
        return false;
    }
    place->at++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Up to digit_count_max digits, at least one; more are none. */
static bool take_digits(struct prefix_place *place, size_t digit_count_max, uint64_t *number)
{
    struct prefix_place ahead = *place;
    uint64_t value = 0;
    while (ahead.at < ahead.end && is_digit(*ahead.at) &&
           (size_t)(ahead.at - place->at) < digit_count_max) {
        value = value * 10 + (uint64_t)(*ahead.at++ - '0');
    }
    if (ahead.at == place->at || (ahead.at < ahead.end && is_digit(*ahead.at))) {
        return false;
    }
    *place = ahead;
    *number = value;
    return true;
}

/* A number of two digits from low to high. */
static bool take_two(struct prefix_place *place, uint64_t low, uint64_t high, uint64_t *number)
{
    const char *begin = place->at;
    return take_digits(place, 2, number) && place->at - begin == 2 && *number >= low &&
           *number <= high;
}

/* "812", "1206": the last two digits are the day. */
static bool take_month_and_day(struct prefix_place *place, struct log_prefix_part *part)
{
    uint64_t number = 0;
    if (!take_digits(place, 4, &number)) {
        return false;
    }
    part->month = number / 100;
    part->day = number % 100;
    return part->month >= 1 && part->month <= 12 && part->day >= 1 && part->day <= 31;
}

static void take_fraction(struct prefix_place *place, struct log_prefix_part *part)
{
    struct prefix_place ahead = *place;
    uint64_t unit_ns = 100000000;
    if (!skip_one(&ahead, ".,") || ahead.at == ahead.end || !is_digit(*ahead.at)) {
        return;
    }
    for (; ahead.at < ahead.end && is_digit(*ahead.at); ahead.at++, unit_ns /= 10) {
        part->fraction_ns += unit_ns * (uint64_t)(*ahead.at - '0');
    }
    *place = ahead;
}

/* "Z", "+02:00", "-0700": times of one log share a zone, so it is passed over. */
static void skip_zone(struct prefix_place *place)
{
    struct prefix_place ahead = *place;
    if (skip_one(&ahead, "Z")) {
        *place = ahead;
    } else if (skip_one(&ahead, "+-") && skip_while(&ahead, is_digit)) {
        *place = ahead;
        (void)(skip_one(place, ":") && skip_while(place, is_digit));
    }
}

static bool skip_level(struct prefix_place *place)
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

/* The label as far as the closing character, which stays. */
static bool take_label(struct prefix_place *place, char close, struct log_prefix_part *part)
{
    const size_t left = (size_t)(place->end - place->at);
    const char *end = memchr(place->at, close, left < LABEL_BYTES_MAX ? left : LABEL_BYTES_MAX);
    if (end == NULL) {
        return false;
    }
    part->label = place->at;
    part->label_length = (size_t)(end - place->at);
    place->at = end;
    return true;
}

bool log_prefix_find_number(const char *label, size_t length, const char *word, uint64_t *number)
{
    const size_t word_length = strlen(word);
    const char *found = memmem(label, length, word, word_length);
    if (found == NULL) {
        return false;
    }
    struct prefix_place place = {found + word_length, label + length};
    return take_digits(&place, 10, number);
}

/* "EngineCore_0 pid=7", "RayTrainWorker pid=7, ip=10.0.0.1", "VllmWorker rank=1 pid=7". */
static bool take_process(struct prefix_place *place, struct log_prefix_part *part)
{
    uint64_t number;
    return place->at < place->end && is_letter(*place->at) && take_label(place, ')', part) &&
           (log_prefix_find_number(part->label, part->label_length, "pid=", &number) ||
            log_prefix_find_number(part->label, part->label_length, "rank=", &number));
}

static bool take_code_of_time(struct prefix_place *place, char code, struct log_prefix_part *part)
{
    uint64_t year;
    switch (code) {
    case 'Y':
        return take_digits(place, 4, &year);
    case 'M':
        return take_two(place, 1, 12, &part->month);
    case 'D':
        return take_two(place, 1, 31, &part->day);
    case 'h':
        return take_two(place, 0, 23, &part->hour);
    case 'm':
        return take_two(place, 0, 59, &part->minute);
    case 's':
        part->has_clock = true;
        return take_two(place, 0, 60, &part->second);
    default: /* 'x' */
        return take_month_and_day(place, part);
    }
}

static bool take_code(struct prefix_place *place, char code, struct log_prefix_part *part)
{
    switch (code) {
    case 'n':
        return skip_while(place, is_digit);
    case 'p':
        return skip_while(place, is_path);
    case 'S':
        return skip_one(place, "DIWEFC");
    case 'L':
        return skip_level(place);
    case 'f':
        take_fraction(place, part);
        return true;
    case 'z':
        skip_zone(place);
        return true;
    case 'o':
        (void)skip_while(place, is_blank);
        return true;
    case 'c':
        while (skip_while(place, is_digit) || skip_one(place, ";")) {
        }
        return true;
    case 'b':
        return place->at == place->end || skip_one(place, " \t");
    case 'R':
        part->has_rank = take_digits(place, 6, &part->rank);
        return part->has_rank;
    case 'r':
        return take_process(place, part);
    case 'P':
        return take_label(place, ']', part);
    default:
        return take_code_of_time(place, code, part);
    }
}

/* True if the pattern may match here, by its first character. */
static bool may_match(const struct prefix_place *place, const char *pattern)
{
    const char c = *place->at;
    if (pattern[0] != '%') {
        return pattern[0] == c;
    }
    return pattern[1] == 'Y'   ? is_digit(c)
           : pattern[1] == 'o' ? is_digit(c) || c == ' '
                               : c >= 'A' && c <= 'Z';
}

/* Goes behind what matches the pattern; keeps what *part has. */
static bool take_more(struct prefix_place *place, const char *pattern, struct log_prefix_part *part)
{
    struct prefix_place ahead = *place;
    for (; *pattern != '\0'; pattern++) {
        bool is_matched = false;
        if (*pattern == '%') {
            is_matched = take_code(&ahead, *++pattern, part);
        } else if (*pattern == ' ') {
            is_matched = skip_while(&ahead, is_blank);
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

static bool take_pattern(struct prefix_place *place, const char *pattern,
                         struct log_prefix_part *part)
{
    *part = (struct log_prefix_part){0};
    return take_more(place, pattern, part);
}

/* Many patterns begin with this stem: it is read once for all of them. */
static const char stem[] = DATE " " CLOCK "%f";
struct stem_state {
    bool is_tried, is_matched;
    struct prefix_place behind;
    struct log_prefix_part part;
};

static bool take_stemmed(struct prefix_place *place, const char *pattern, struct stem_state *state,
                         struct log_prefix_part *part)
{
    if (strncmp(pattern, stem, sizeof stem - 1) != 0) {
        return take_pattern(place, pattern, part);
    }
    if (!state->is_tried) {
        state->is_tried = true;
        state->behind = *place;
        state->is_matched = take_pattern(&state->behind, stem, &state->part);
    }
    struct prefix_place behind = state->behind;
    *part = state->part;
    if (!state->is_matched || !take_more(&behind, pattern + sizeof stem - 1, part)) {
        return false;
    }
    *place = behind;
    return true;
}

struct log_prefix log_prefix_begin(const char *line, size_t length, bool may_have_task)
{
    const size_t looked_at = length < PREFIX_BYTES_MAX ? length : PREFIX_BYTES_MAX;
    const char *line_break = memchr(line, '\n', looked_at);
    return (struct log_prefix){.at = line,
                               .end = line_break == NULL ? line + looked_at : line_break,
                               .may_have_task = may_have_task};
}

bool log_prefix_next(struct log_prefix *prefix, struct log_prefix_part *part)
{
    struct prefix_place place = {prefix->at, prefix->end};
    struct stem_state state = {0};
    if (place.at == place.end || prefix->part_count == PART_COUNT_MAX) {
        return false;
    }
    for (size_t i = 0; i < PATTERN_COUNT; i++) {
        const bool is_allowed = patterns[i].place == ANYWHERE ||
                                (patterns[i].place == BEHIND && prefix->part_count > 0) ||
                                (patterns[i].place == FIRST && prefix->part_count == 0 &&
                                 prefix->may_have_task);
        if (is_allowed && may_match(&place, patterns[i].text) &&
            take_stemmed(&place, patterns[i].text, &state, part)) {
            part->kind = patterns[i].kind;
            prefix->at = place.at;
            prefix->part_count++;
            return true;
        }
    }
    return false;
}

size_t log_prefix_length(const char *line, size_t length)
{
    struct log_prefix prefix = log_prefix_begin(line, length, true);
    struct log_prefix_part part;
    while (log_prefix_next(&prefix, &part)) {
        continue;
    }
    return (size_t)(prefix.at - line);
}
