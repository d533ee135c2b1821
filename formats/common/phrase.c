#include "formats/common/phrase.h"

#include "formats/common/cursor.h"
#include "formats/common/log_prefix.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <stdarg.h>
#include <string.h>

enum {
    PREFIX_BYTES_MAX = 256, /* how long a log prefix at the start of a continued line may be */
    NUMBER_BYTES_MAX = 24,
    PREFIXED_COUNT_MAX = 8 /* lines of nothing but a known prefix in one gap */
};

/* Eight bytes at a time: of each, the three highest bits say whether it is a capital letter ('@' to
 * '_'), or a small one ('`' to DEL). */
#define EIGHT(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of each of the eight bytes that is a capital letter with a small one behind it. */
static uint64_t find_beginnings(const char *eight)
{
    const uint64_t no_capital = cursor_read_eight(eight) ^ EIGHT(0x40);
    const uint64_t no_small = cursor_read_eight(eight + 1) ^ EIGHT(0x60);
    const uint64_t wrong = (no_capital | no_small) & EIGHT(0xE0);
    return ~((wrong >> 1) + EIGHT(0x7F)) & EIGHT(0x80);
}

size_t phrase_next_beginning(const char *text, size_t length, size_t at)
{
    for (; at < length && length - at > 8; at += 8) {
        const uint64_t found = find_beginnings(text + at);
        if (found != 0) {
            return at + (size_t)__builtin_ctzll(found) / 8;
        }
    }
    for (; at < length && length - at > 1; at++) {
        if ((text[at] & 0xE0) == 0x40 && (text[at + 1] & 0xE0) == 0x60) {
            return at;
        }
    }
    return length;
}

/* Behind a line that is a string in a line of JSON: what follows the string there,
 * {"log":"...\n","stream":"stderr"}, goes as far as the line.  Returns how much that is; 0: it is
 * no such place. */
static size_t measure_json_rest(const struct phrase_cursor *cursor)
{
    const char *here = cursor->text + cursor->at;
    const size_t left = cursor->length - cursor->at;
    if (left < 2 || here[0] != '"' || (here[1] != ',' && here[1] != '}')) {
        return 0;
    }
    const char *end = memchr(here, '\n', left < PREFIX_BYTES_MAX ? left : PREFIX_BYTES_MAX);
    return end == NULL ? 0 : (size_t)(end - here);
}

/* Measures the log prefix of the line that begins here; an empty line is seen at once. */
static size_t measure_prefix(const struct phrase_cursor *cursor)
{
    return phrase_peek(cursor) == '\n'
               ? 0
               : log_prefix_length(cursor->text + cursor->at, cursor->length - cursor->at);
}

bool phrase_skip_gap(struct phrase_cursor *cursor)
{
    bool is_new_line = false;
    int prefixed_count = 0;
    for (;;) {
        const char c = phrase_peek(cursor);
        if (!phrase_is_at_end(cursor) && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
            is_new_line = is_new_line || c == '\n';
            cursor->at++;
            const size_t prefix = c == '\n' && prefixed_count < PREFIXED_COUNT_MAX
                                      ? measure_prefix(cursor)
                                      : 0;
            prefixed_count += prefix > 0 ? 1 : 0;
            cursor->at += prefix;
        } else if (c == '\\' && cursor->at + 1 < cursor->length &&
                   cursor->text[cursor->at + 1] != '\0' &&
                   strchr("nrt", cursor->text[cursor->at + 1]) != NULL) {
            cursor->at += 2;
            cursor->at += measure_json_rest(cursor);
        } else {
            return is_new_line;
        }
    }
}

bool phrase_word_is_here(const struct phrase_cursor *cursor, const char *word, size_t word_length)
{
    if (cursor->length - cursor->at < word_length ||
        memcmp(cursor->text + cursor->at, word, word_length) != 0) {
        return false;
    }
    const size_t after = cursor->at + word_length;
    return after == cursor->length || !phrase_is_word(word[word_length - 1]) ||
           !phrase_is_word(cursor->text[after]);
}

static bool is_prefix_end(char c)
{
    return c != '\0' && strchr(" \t]>:|\"", c) != NULL;
}

/* Goes behind a log prefix ("I0101 12:00:00 file.cc:33] ") when the word follows it on this line.
 */
static bool skip_prefix(struct phrase_cursor *cursor, const char *word, size_t word_length)
{
    struct phrase_cursor ahead = *cursor;
    const size_t left = cursor->length - cursor->at;
    const size_t stop = cursor->at + (left < PREFIX_BYTES_MAX ? left : PREFIX_BYTES_MAX);
    for (; ahead.at < stop && ahead.text[ahead.at] != '\n'; ahead.at++) {
        if (ahead.text[ahead.at] == word[0] &&
            is_prefix_end(ahead.at > 0 ? ahead.text[ahead.at - 1] : '\n') &&
            phrase_word_is_here(&ahead, word, word_length)) {
            *cursor = ahead;
            return true;
        }
    }
    return false;
}

bool phrase_take(struct phrase_cursor *cursor, const char *phrase)
{
    struct phrase_cursor ahead = *cursor;
    while (*phrase != '\0') {
        const size_t word_length = strcspn(phrase, " ");
        const bool is_new_line = phrase_skip_gap(&ahead);
        if (!phrase_word_is_here(&ahead, phrase, word_length) &&
            !(is_new_line && skip_prefix(&ahead, phrase, word_length))) {
            return false;
        }
        ahead.at += word_length;
        phrase += word_length;
        phrase += *phrase == ' ' ? 1 : 0;
    }
    *cursor = ahead;
    return true;
}

/* The phrase that begins right here. */
static size_t find_phrase_here(struct phrase_cursor *cursor, const char *const *phrases,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct phrase_cursor behind = *cursor;
        if (phrase_peek(cursor) == phrases[i][0] && phrase_take(&behind, phrases[i])) {
            *cursor = behind;
            return i;
        }
    }
    return count;
}

size_t phrase_take_one(struct phrase_cursor *cursor, const char *const *phrases, size_t count)
{
    struct phrase_cursor ahead = *cursor;
    const bool is_new_line = phrase_skip_gap(&ahead);
    const size_t left = ahead.length - ahead.at;
    const size_t stop = ahead.at + (left < PREFIX_BYTES_MAX ? left : PREFIX_BYTES_MAX);
    const size_t begin = ahead.at;
    for (; ahead.at < stop && phrase_peek(&ahead) != '\n'; ahead.at++) {
        if (ahead.at > begin && !is_prefix_end(ahead.text[ahead.at - 1])) {
            continue;
        }
        const size_t found = find_phrase_here(&ahead, phrases, count);
        if (found < count) {
            *cursor = ahead;
            return found;
        }
        if (!is_new_line) {
            break;
        }
    }
    return count;
}

bool phrase_take_character(struct phrase_cursor *cursor, char c)
{
    if (phrase_peek(cursor) != c || phrase_is_at_end(cursor)) {
        return false;
    }
    cursor->at++;
    return true;
}

bool phrase_take_size(struct phrase_cursor *cursor, struct size_range *range)
{
    struct phrase_cursor ahead = *cursor;
    phrase_skip_gap(&ahead);
    const size_t begin = ahead.at;
    while (!phrase_is_at_end(&ahead) && ahead.at - begin < NUMBER_BYTES_MAX &&
           ((phrase_peek(&ahead) >= '0' && phrase_peek(&ahead) <= '9') ||
            phrase_peek(&ahead) == '.')) {
        ahead.at++;
    }
    if (ahead.at == begin || phrase_is_at_end(&ahead)) {
        return false;
    }
    ahead.at++; /* the unit */
    if (phrase_is_word(phrase_peek(&ahead)) ||
        !printed_size_parse(ahead.text + begin, ahead.at - begin, range)) {
        return false;
    }
    *cursor = ahead;
    return true;
}

bool phrase_take_count(struct phrase_cursor *cursor, uint64_t *count)
{
    struct phrase_cursor ahead = *cursor;
    char digits[NUMBER_BYTES_MAX + 1];
    size_t digit_count = 0;
    phrase_skip_gap(&ahead);
    for (;;) {
        const char c = phrase_peek(&ahead);
        const bool is_separator = c == ',' && digit_count > 0 && ahead.at + 1 < ahead.length &&
                                  ahead.text[ahead.at + 1] >= '0' &&
                                  ahead.text[ahead.at + 1] <= '9';
        if (c >= '0' && c <= '9' && digit_count < NUMBER_BYTES_MAX) {
            digits[digit_count++] = c;
        } else if (!is_separator) {
            break;
        }
        ahead.at++;
    }
    if (!number_parse(digits, digit_count, count) || *count > (uint64_t)1 << 63) {
        return false;
    }
    *cursor = ahead;
    return true;
}

/* Takes the unit that stands here; *bits becomes the number of bits that it shifts by. */
static bool take_unit(struct phrase_cursor *cursor, unsigned *bits)
{
    static const struct {
        const char *name;
        unsigned bits;
    } units[] = {{"bytes", 0}, {"byte", 0}, {"B", 0},    {"KB", 10}, {"KiB", 10}, {"kB", 10},
                 {"MB", 20},   {"MiB", 20}, {"mb", 20},  {"GB", 30}, {"GiB", 30}, {"TB", 40},
                 {"TiB", 40},  {"PiB", 50}, {"EiB", 60}, {"PB", 50}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (phrase_word_is_here(cursor, units[i].name, strlen(units[i].name))) {
            cursor->at += strlen(units[i].name);
            *bits = units[i].bits;
            return true;
        }
    }
    return false;
}

bool phrase_take_unit_size(struct phrase_cursor *cursor, struct unit_size *size)
{
    struct phrase_cursor ahead = *cursor;
    struct decimal number;
    unsigned bits = 0;
    (void)phrase_skip_gap(&ahead);
    const size_t length = decimal_parse(ahead.text + ahead.at, ahead.length - ahead.at, &number);
    ahead.at += length;
    (void)phrase_skip_gap(&ahead);
    if (length == 0 || !take_unit(&ahead, &bits)) {
        return false;
    }
    *size = unit_size_make(&number, bits);
    *cursor = ahead;
    return true;
}

static bool take_said_size(struct phrase_cursor *cursor, struct compile_size *size)
{
    struct size_range range;
    if (!phrase_take_size(cursor, &range)) {
        return false;
    }
    *size = (struct compile_size){.is_said = true, .range = range, .at = cursor->at - 1};
    return true;
}

static bool take_exact_size(struct phrase_cursor *cursor, struct compile_size *size)
{
    uint64_t count = 0;
    if (!phrase_take_count(cursor, &count)) {
        return false;
    }
    *size = (struct compile_size){
        .is_said = true, .range = printed_size_exact(count), .at = cursor->at - 1};
    return true;
}

/* A conversion: '%' and its letter. */
static bool take_converted(struct phrase_cursor *cursor, char letter, void *to)
{
    switch (letter) {
    case 'S':
        return phrase_take_size(cursor, to);
    case 'C':
        return take_said_size(cursor, to);
    case 'E':
        return take_exact_size(cursor, to);
    case 'U':
        return phrase_take_unit_size(cursor, to);
    default: /* 'N' */
        return phrase_take_count(cursor, to);
    }
}

bool phrase_scan(struct phrase_cursor *cursor, const char *pattern, ...)
{
    struct phrase_cursor ahead = *cursor;
    bool is_there = true;
    va_list arguments;
    va_start(arguments, pattern);
    while (is_there && *pattern != '\0') {
        char word[64];
        const size_t length = strcspn(pattern, " ");
        const bool is_character = length == 3 && (pattern[0] == '[' || pattern[0] == '{');
        CHECK(length < sizeof word);
        memcpy(word, pattern, length);
        word[length] = '\0';
        if (is_character) {
            is_there = phrase_take_character(&ahead, word[1]) || word[0] == '[';
        } else if (word[0] == '%' && length == 2) {
            is_there = take_converted(&ahead, word[1], va_arg(arguments, void *));
        } else {
            is_there = phrase_take(&ahead, word);
        }
        pattern += length;
        pattern += *pattern == ' ' ? 1 : 0;
    }
    va_end(arguments);
    if (is_there) {
        *cursor = ahead;
    }
    return is_there;
}

void phrase_print(const char *text, size_t length, char *to, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used < room - 1; i++) {
        const bool is_blank = strchr(" \t\r\n", text[i]) != NULL; /* a NUL, too */
        if (!is_blank || (used > 0 && to[used - 1] != ' ')) {
            to[used++] = is_blank ? ' ' : text[i];
        }
    }
    to[used] = '\0';
}
