/* The parts of a prefix are patterns, a table that is tried again behind each part. */
#include "formats/log/log_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PREFIX_BYTES_MAX = 512, PART_COUNT_MAX = 12, LABEL_BYTES_MAX = 96 };

/* What a part says. */
enum part_kind {
    PART_TASK,   /* a label: which task */
    PART_LABEL,  /* a label: which process */
    PART_STAMP,  /* the collector's time */
    PART_LEVEL,  /* vLLM's logger, in front of each line of a longer text */
    PART_LOGGER, /* the program's logger: importers know it */
};

/* In a pattern a blank stands for one or more, and
 *     %n  digits                 %f  a fraction, or nothing     %z  a time zone, or nothing
 *     %p  a path or name         %S  the letter of a severity   %L  the word of a severity
 *     %b  one blank, or the end  %o  blanks, or nothing         %x  month and day in 3 or 4 digits
 *     %Y %M %D %h %m %s          the parts of a time            %R  a rank      %T  a task
 *     %r  a process in words     %P  a pod and its container    %a  ranks up to a ']', or any text
 * Others stand for themselves. */
#define DATE "%Y-%M-%D"
#define CLOCK "%h:%m:%s"
static const struct part {
    const char *pattern;
    enum part_kind kind;
} parts[] = {
    {"%o%T: ", PART_TASK},                 /* srun --label */
    {DATE "T" CLOCK "%f%z%b", PART_STAMP}, /* a container, a CI job */
    {"[pod/%P]%b", PART_LABEL},            /* kubectl logs --prefix */
    {"(%r)%b", PART_LABEL},                /* vLLM, Ray */
    {"[rank%R]:%b", PART_LABEL},           /* PyTorch */
    {"[rank%R]:", PART_LABEL},
    {"[default%R]:%b", PART_LABEL}, /* torchrun --tee */
    {"[default%R]:", PART_LABEL},
    {"[%n,%R]<stdout>:", PART_LABEL}, /* mpirun --tag-output */
    {"[%n,%R]<stderr>:", PART_LABEL},
    {"%L %M-%D " CLOCK " [%p:%n]%b", PART_LEVEL}, /* vLLM */
    {"%L %M-%D " CLOCK " %p:%n]%b", PART_LEVEL},
    {"[%S%x " CLOCK "%f %p:%n]%b", PART_LOGGER},        /* PyTorch in C++ */
    {"%S%x " CLOCK "%f %n %p:%n]%b", PART_LOGGER},      /* absl */
    {DATE " " CLOCK "%f: %S %p:%n]%b", PART_LOGGER},    /* TensorFlow */
    {"[" DATE " " CLOCK "%f%a]%b", PART_LOGGER},        /* SGLang, DeepSpeed */
    {DATE " " CLOCK "%f%z - %p - %L -%b", PART_LOGGER}, /* Python's logging */
    {DATE " " CLOCK "%f%z - %L -%b", PART_LOGGER},
    {DATE " " CLOCK "%f%z -%b", PART_LOGGER},
    {DATE " " CLOCK "%f%z:%b", PART_LOGGER},
    {DATE " " CLOCK "%f%z%b", PART_LOGGER},
    {"[%o%n.%n]%b", PART_LOGGER}, /* the kernel */
    {"[%L]%b", PART_LOGGER},
    {"[%p:%n:%p]%b", PART_LOGGER},
    {"%L:%b", PART_LOGGER},
};
enum { PART_COUNT = sizeof parts / sizeof parts[0] };

/* What a part is read into. */
struct taken {
    uint64_t month, day, hour, minute, second, fraction_ns;
    bool has_clock;
    uint64_t rank;
    bool has_rank;
    const char *label; /* of a process, a pod, or ranks of SGLang */
    size_t label_length;
};

/* A place in the line. */
struct place {
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
    while (place->at < place->end && (*place->at == ' ' || *place->at == '\t')) {
        place->at++;
    }
    return place->at > begin;
}

/* Up to digit_count_max digits, at least one; more are none. */
static bool take_digits(struct place *place, size_t digit_count_max, uint64_t *number)
{
    struct place ahead = *place;
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
static bool take_two(struct place *place, uint64_t low, uint64_t high, uint64_t *number)
{
    const char *begin = place->at;
    return take_digits(place, 2, number) && place->at - begin == 2 && *number >= low &&
           *number <= high;
}

/* "812", "1206": the last two digits are the day. */
static bool take_month_and_day(struct place *place, struct taken *taken)
{
    uint64_t number = 0;
    if (!take_digits(place, 4, &number)) {
        return false;
    }
    taken->month = number / 100;
    taken->day = number % 100;
    return taken->month >= 1 && taken->month <= 12 && taken->day >= 1 && taken->day <= 31;
}

static void take_fraction(struct place *place, struct taken *taken)
{
    struct place ahead = *place;
    uint64_t unit_ns = 100000000;
    if (!skip_one(&ahead, ".,") || ahead.at == ahead.end || !is_digit(*ahead.at)) {
        return;
    }
    for (; ahead.at < ahead.end && is_digit(*ahead.at); ahead.at++, unit_ns /= 10) {
        taken->fraction_ns += unit_ns * (uint64_t)(*ahead.at - '0');
    }
    *place = ahead;
}

/* "Z", "+02:00", "-0700": times of one log share a zone, so it is passed over. */
static void skip_zone(struct place *place)
{
    struct place ahead = *place;
    if (skip_one(&ahead, "Z")) {
        *place = ahead;
    } else if (skip_one(&ahead, "+-") && skip_while(&ahead, is_digit)) {
        *place = ahead;
        (void)(skip_one(place, ":") && skip_while(place, is_digit));
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

/* The label as far as the closing character, which stays. */
static bool take_label(struct place *place, char close, struct taken *taken)
{
    const size_t left = (size_t)(place->end - place->at);
    const char *end = memchr(place->at, close, left < LABEL_BYTES_MAX ? left : LABEL_BYTES_MAX);
    if (end == NULL) {
        return false;
    }
    taken->label = place->at;
    taken->label_length = (size_t)(end - place->at);
    place->at = end;
    return true;
}

/* The digits behind a word of the label, as "pid=" in "EngineCore pid=7". */
static bool find_number(const char *label, size_t length, const char *word, uint64_t *number)
{
    const size_t word_length = strlen(word);
    const char *found = memmem(label, length, word, word_length);
    if (found == NULL) {
        return false;
    }
    struct place place = {found + word_length, label + length};
    return take_digits(&place, 10, number);
}

/* "EngineCore_0 pid=7", "RayTrainWorker pid=7, ip=10.0.0.1", "VllmWorker rank=1 pid=7". */
static bool take_process(struct place *place, struct taken *taken)
{
    uint64_t number;
    return place->at < place->end && is_letter(*place->at) && take_label(place, ')', taken) &&
           (find_number(taken->label, taken->label_length, "pid=", &number) ||
            find_number(taken->label, taken->label_length, "rank=", &number));
}

static bool take_rank(struct place *place, struct taken *taken)
{
    taken->has_rank = take_digits(place, 6, &taken->rank);
    return taken->has_rank;
}

static bool take_code_of_time(struct place *place, char code, struct taken *taken)
{
    uint64_t year;
    switch (code) {
    case 'Y':
        return take_digits(place, 4, &year);
    case 'M':
        return take_two(place, 1, 12, &taken->month);
    case 'D':
        return take_two(place, 1, 31, &taken->day);
    case 'h':
        return take_two(place, 0, 23, &taken->hour);
    case 'm':
        return take_two(place, 0, 59, &taken->minute);
    case 's':
        taken->has_clock = true;
        return take_two(place, 0, 60, &taken->second);
    default: /* 'x' */
        return take_month_and_day(place, taken);
    }
}

static bool take_code(struct place *place, char code, struct taken *taken)
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
        take_fraction(place, taken);
        return true;
    case 'z':
        skip_zone(place);
        return true;
    case 'o':
        (void)skip_blanks(place);
        return true;
    case 'b':
        return place->at == place->end || skip_one(place, " \t");
    case 'R':
    case 'T':
        return take_rank(place, taken);
    case 'r':
        return take_process(place, taken);
    case 'P':
    case 'a':
        return take_label(place, ']', taken);
    default:
        return take_code_of_time(place, code, taken);
    }
}

/* Whether the pattern may match here, from its first character. */
static bool may_match(const struct place *place, const char *pattern)
{
    const char c = *place->at;
    if (pattern[0] != '%') {
        return pattern[0] == c;
    }
    return pattern[1] == 'Y'   ? is_digit(c)
           : pattern[1] == 'o' ? is_digit(c) || c == ' '
                               : c >= 'A' && c <= 'Z';
}

/* Goes behind what matches the pattern; keeps what *taken has. */
static bool take_more(struct place *place, const char *pattern, struct taken *taken)
{
    struct place ahead = *place;
    for (; *pattern != '\0'; pattern++) {
        bool is_matched = false;
        if (*pattern == '%') {
            is_matched = take_code(&ahead, *++pattern, taken);
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

static bool take_pattern(struct place *place, const char *pattern, struct taken *taken)
{
    *taken = (struct taken){0};
    return take_more(place, pattern, taken);
}

/* What many patterns begin with is read once for all. */
static const char stem[] = DATE " " CLOCK "%f";
struct stem_state {
    bool is_tried, is_matched;
    struct place behind;
    struct taken taken;
};

static bool take_part(struct place *place, const char *pattern, struct stem_state *state,
                      struct taken *taken)
{
    if (strncmp(pattern, stem, sizeof stem - 1) != 0) {
        return take_pattern(place, pattern, taken);
    }
    if (!state->is_tried) {
        state->is_tried = true;
        state->behind = *place;
        state->is_matched = take_pattern(&state->behind, stem, &state->taken);
    }
    struct place behind = state->behind;
    *taken = state->taken;
    if (!state->is_matched || !take_more(&behind, pattern + sizeof stem - 1, taken)) {
        return false;
    }
    *place = behind;
    return true;
}

static void set_time(const struct taken *taken, enum log_clock clock, struct log_time *time)
{
    const uint64_t days = (taken->month - 1) * 31 + taken->day - 1;
    const uint64_t seconds = ((days * 24 + taken->hour) * 60 + taken->minute) * 60 + taken->second;
    if (clock >= time->clock) { /* the program's wins */
        time->clock = clock;
        time->time_ns = seconds * 1000000000 + taken->fraction_ns;
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
    char digits[20];
    size_t count = 0;
    const size_t length = strlen(word);
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(name, word, length);
    for (size_t i = 0; i < count; i++) {
        name[length + i] = digits[count - 1 - i];
    }
    return length + count;
}

/* "TP3", "DP0 TP3" of SGLang, "Worker_TP1": a rank where it is the only number. */
static void find_rank_in(const char *label, size_t length, struct log_line *line)
{
    uint64_t rank;
    if (find_number(label, length, "rank=", &rank)) {
        line->rank = (uint32_t)rank;
    } else if (find_number(label, length, "TP", &rank) && memmem(label, length, "DP", 2) == NULL &&
               memmem(label, length, "PP", 2) == NULL) {
        line->rank = (uint32_t)rank;
    }
    (void)find_number(label, length, "pid=", &line->pid);
}

/* Of what SGLang and DeepSpeed put behind the time only the ranks are a label. */
static bool has_ranks(const char *label, size_t length)
{
    return length > 1 &&
           (memmem(label, length, " TP", 3) != NULL || memmem(label, length, " DP", 3) != NULL ||
            memmem(label, length, " PP", 3) != NULL);
}

static void keep_part(enum part_kind kind, const struct taken *taken, struct log_line *line)
{
    char name[32];
    if (taken->has_clock) {
        set_time(taken, kind == PART_STAMP ? LOG_CLOCK_COLLECTOR : LOG_CLOCK_PROGRAM, &line->time);
    }
    if (taken->has_rank) {
        add_source(line, name,
                   print_numbered(kind == PART_TASK ? "task " : "rank ", taken->rank, name));
        line->rank = (uint32_t)taken->rank;
    } else if (kind == PART_LABEL) {
        add_source(line, taken->label, taken->label_length);
        find_rank_in(taken->label, taken->label_length, line);
    } else if (taken->label != NULL && has_ranks(taken->label, taken->label_length)) {
        add_source(line, taken->label + 1, taken->label_length - 1);
        find_rank_in(taken->label, taken->label_length, line);
    }
}

static bool split_part(struct place *place, bool may_be_task, struct log_line *line,
                       enum part_kind *kind)
{
    struct taken taken;
    struct stem_state state = {0};
    for (size_t i = may_be_task ? 0 : 1; place->at < place->end && i < PART_COUNT; i++) {
        if (may_match(place, parts[i].pattern) &&
            take_part(place, parts[i].pattern, &state, &taken)) {
            *kind = parts[i].kind;
            keep_part(*kind, &taken, line);
            return true;
        }
    }
    return false;
}

/* "... [repeated 3x across cluster]" at the end. */
static void split_repetition(struct log_line *line)
{
    static const char word[] = "[repeated ";
    const size_t tail = line->length < 64 ? line->length : 64;
    uint64_t count = 0;
    if (memchr(line->at + line->length - tail, ']', tail) == NULL) {
        return;
    }
    const char *found = memmem(line->at + line->length - tail, tail, word, sizeof word - 1);
    if (found == NULL) {
        return;
    }
    struct place place = {found + sizeof word - 1, line->at + line->length};
    if (take_digits(&place, 6, &count) && skip_one(&place, "x")) {
        line->repeated_count = (uint32_t)count;
        line->length = (size_t)(found - line->at);
    }
}

void log_line_split(const char *text, size_t length, bool has_task_labels, struct log_line *line)
{
    line->at = text;
    line->length = length;
    line->label_bytes = 0;
    line->prefix_bytes = 0;
    line->source[0] = '\0';
    line->rank = LOG_RANK_NONE;
    line->pid = 0;
    line->time = (struct log_time){0};
    line->repeated_count = 0;
    split_repetition(line);
    const size_t looked_at = line->length < PREFIX_BYTES_MAX ? line->length : PREFIX_BYTES_MAX;
    struct place place = {text, text + looked_at};
    enum part_kind kind;
    bool has_logger = false;
    for (int i = 0;
         i < PART_COUNT_MAX && split_part(&place, has_task_labels && i == 0, line, &kind); i++) {
        has_logger = has_logger || kind == PART_LOGGER;
        line->prefix_bytes = (size_t)(place.at - text);
        if (!has_logger) {
            line->label_bytes = line->prefix_bytes;
        }
    }
}

bool log_time_parse(const char *text, size_t length, struct log_time *time)
{
    struct place place = {text, text + length};
    struct taken taken;
    if (!take_pattern(&place, DATE "T" CLOCK "%f%z", &taken) || place.at != place.end) {
        return false;
    }
    *time = (struct log_time){0};
    set_time(&taken, LOG_CLOCK_COLLECTOR, time);
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
