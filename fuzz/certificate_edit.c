#include "fuzz/certificate_edit.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* A part of the text: [begin, end). */
struct part {
    size_t begin, end;
};

/* Replaces the part by length bytes, which are not in the text. */
static void replace_member(struct edited_certificate *text, struct part part, const char *bytes,
                           size_t length)
{
    if (text->length - (part.end - part.begin) + length >= CERTIFICATE_TEXT_BYTES) {
        return;
    }
    memmove(text->bytes + part.begin + length, text->bytes + part.end, text->length - part.end);
    memcpy(text->bytes + part.begin, bytes, length);
    text->length = text->length - (part.end - part.begin) + length;
}

/* --- parts of a kind: each finder gives the first one at or behind *at, and false where there is
 * none --- */

typedef bool find_part(const struct edited_certificate *text, size_t at, struct part *part);

static bool find_number(const struct edited_certificate *text, size_t at, struct part *part)
{
    while (at < text->length && !isdigit((unsigned char)text->bytes[at])) {
        at++;
    }
    part->begin = part->end = at;
    while (part->end < text->length && isdigit((unsigned char)text->bytes[part->end])) {
        part->end++;
    }
    return at < text->length;
}

/* One character that may be changed where numbers and logs are: a digit, or a letter of a log. */
static bool find_digit(const struct edited_certificate *text, size_t at, struct part *part)
{
    const bool is_found = find_number(text, at, part);
    part->end = part->begin + 1;
    return is_found;
}

static bool find_line(const struct edited_certificate *text, size_t at, struct part *part)
{
    const char *line_end = at < text->length ? memchr(text->bytes + at, '\n', text->length - at)
                                             : NULL;
    part->begin = at;
    part->end = line_end == NULL ? text->length : (size_t)(line_end - text->bytes) + 1;
    return at < text->length;
}

static const char *const words[] = {
    "true",    "false", "none",     "slide",     "repack",    "buffer",  "program",  "output",
    "retired", "live",  "dying",    "justified", "premature", "unknown", "rounding", "search",
    "table",   "fills", "patterns", "spans",     "stack",     "kept"};
enum { WORD_COUNT = sizeof words / sizeof words[0] };

static bool find_word(const struct edited_certificate *text, size_t at, struct part *part)
{
    for (; at < text->length; at++) {
        if (at > 0 && (isalpha((unsigned char)text->bytes[at - 1]) || text->bytes[at - 1] == '_')) {
            continue;
        }
        for (size_t i = 0; i < WORD_COUNT; i++) {
            const size_t length = strlen(words[i]);
            if (text->bytes[at] == words[i][0] && length < text->length - at &&
                memcmp(text->bytes + at, words[i], length) == 0 &&
                !isalpha((unsigned char)text->bytes[at + length]) &&
                text->bytes[at + length] != '_') {
                *part = (struct part){at, at + length};
                return true;
            }
        }
    }
    return false;
}

static bool find_log_letter(const struct edited_certificate *text, size_t at, struct part *part)
{
    static const char key[] = "\"log\": \"";
    const char *log = memmem(text->bytes, text->length, key, sizeof key - 1);
    if (log == NULL) {
        return false;
    }
    const size_t begin = (size_t)(log - text->bytes) + sizeof key - 1;
    at = at < begin ? begin : at;
    *part = (struct part){at, at + 1};
    return at < text->length && text->bytes[at] != '"';
}

/* The n-th part of the kind, modulo how many there are.  False: there is none. */
static bool choose_member(const struct edited_certificate *text, find_part *find, size_t n,
                          struct part *part)
{
    size_t count = 0;
    for (size_t at = 0; find(text, at, part); at = part->end) {
        count++;
    }
    if (count == 0) {
        return false;
    }
    n %= count;
    size_t at = 0;
    for (size_t i = 0; i <= n && find(text, at, part); i++) {
        at = part->end;
    }
    return true;
}

/* --- the edits --- */

/* The line and one that comes after it change places. */
static void swap_lines(struct edited_certificate *text, struct part first, size_t distance)
{
    static char lines[CERTIFICATE_TEXT_BYTES];
    struct part second = first;
    for (size_t i = 0; i < distance && find_line(text, second.end, &second); i++) {
    }
    if (second.begin < first.end || second.end > text->length) {
        return;
    }
    size_t length = 0;
    const struct part order[] = {second, {first.end, second.begin}, first};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        memcpy(lines + length, text->bytes + order[i].begin, order[i].end - order[i].begin);
        length += order[i].end - order[i].begin;
    }
    memcpy(text->bytes + first.begin, lines, length);
}

static void duplicate_line(struct edited_certificate *text, struct part line)
{
    static char copy[CERTIFICATE_TEXT_BYTES];
    memcpy(copy, text->bytes + line.begin, line.end - line.begin);
    replace_member(text, (struct part){line.end, line.end}, copy, line.end - line.begin);
}

static void edit_log(struct edited_certificate *text, struct part letter, uint8_t value)
{
    static const char letters[] = {'f', 'c', 'b'};
    const char *to = &letters[value / 3 % sizeof letters];
    const struct part before = {letter.begin, letter.begin};
    replace_member(text,
                   value % 3 == 0   ? letter
                   : value % 3 == 1 ? before
                                    : letter,
                   to, value % 3 == 2 ? 0 : 1);
}

static void edit_number(struct edited_certificate *text, unsigned how, struct part part,
                        uint8_t value)
{
    const char digit = (char)('0' + value % 10);
    const struct part before = {part.begin, part.begin};
    replace_member(text, how == 1 ? before : part, how == 3 ? "-1" : &digit,
                   how == 2   ? 0
                   : how == 3 ? 2
                              : 1);
}

static void edit_line(struct edited_certificate *text, unsigned how, struct part line,
                      uint8_t value)
{
    if (how == 0) {
        swap_lines(text, line, 1 + value % 8u);
    } else if (how == 1) {
        replace_member(text, line, "", 0);
    } else {
        duplicate_line(text, line);
    }
}

void certificate_edit(struct edited_certificate *text, const uint8_t edit[CERTIFICATE_EDIT_BYTES])
{
    const unsigned way = edit[0] % 9;
    const size_t n = edit[1] | (size_t)edit[2] << 8;
    struct part part;
    if (way < 4 && choose_member(text, way == 3 ? find_number : find_digit, n, &part)) {
        edit_number(text, way, part, edit[3]);
    } else if (way >= 4 && way < 7 && choose_member(text, find_line, n, &part)) {
        edit_line(text, way - 4, part, edit[3]);
    } else if (way == 7 && choose_member(text, find_word, n, &part)) {
        replace_member(text, part, words[edit[3] % WORD_COUNT],
                       strlen(words[edit[3] % WORD_COUNT]));
    } else if (way == 8 && choose_member(text, find_log_letter, n, &part)) {
        edit_log(text, part, edit[3]);
    }
}
