/* The place of a reader of lines.  Importers of line formats share it to read hundreds of megabytes
 * a second: nothing is copied, and every byte is looked at once. */
#ifndef FORMATS_COMMON_CURSOR_H
#define FORMATS_COMMON_CURSOR_H

#include "formats/common/import_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A reader keeps its cursor in registers where everything that touches it is inlined. */
#define CURSOR_INLINE static inline __attribute__((always_inline))

/* A part of a text, which is not copied. */
struct text_part {
    const char *at;
    size_t length;
};

static inline bool text_has(const char *text, size_t length, const char *word)
{
    return memmem(text, length, word, strlen(word)) != NULL;
}

/* words: with NULL behind the last. */
static inline bool text_has_any(const char *text, size_t length, const char *const *words)
{
    while (*words != NULL && !text_has(text, length, *words)) {
        words++;
    }
    return *words != NULL;
}

/* Returns the index of the name that the text is; count: none. */
static inline size_t text_find_name(const char *const *names, size_t count, const char *text,
                                    size_t length)
{
    size_t i = 0;
    while (i < count && (strlen(names[i]) != length || memcmp(names[i], text, length) != 0)) {
        i++;
    }
    return i;
}

struct cursor {
    const char *at, *end;   /* what is left */
    const char *line_begin; /* of the line in which at is */
    size_t line;            /* its number, from 1 */
};

CURSOR_INLINE struct cursor cursor_make(const char *text, size_t length)
{
    return (struct cursor){.at = text, .end = text + length, .line_begin = text, .line = 1};
}

CURSOR_INLINE size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

CURSOR_INLINE bool cursor_is_at(const struct cursor *cursor, char c)
{
    return cursor->at < cursor->end && *cursor->at == c;
}

/* Takes the character if it is there. */
CURSOR_INLINE bool cursor_take(struct cursor *cursor, char c)
{
    const bool is_there = cursor_is_at(cursor, c);
    cursor->at += is_there;
    return is_there;
}

/* Takes the word (of a length that the compiler knows) if it is there. */
CURSOR_INLINE bool cursor_take_word(struct cursor *cursor, const char *word, size_t length)
{
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0) {
        return false;
    }
    cursor->at += length;
    return true;
}

/* Does the same for a word that is no constant. */
static inline bool cursor_take_text(struct cursor *cursor, const char *text)
{
    return cursor_take_word(cursor, text, strlen(text));
}

static inline void cursor_skip(struct cursor *cursor, char c)
{
    while (cursor_take(cursor, c)) {
    }
}

static inline void cursor_skip_blanks(struct cursor *cursor)
{
    while (cursor_is_at(cursor, ' ') || cursor_is_at(cursor, '\t')) {
        cursor->at++;
    }
}

/* Goes behind the first place with that text, and says what stands before it. */
static inline bool cursor_take_up_to(struct cursor *cursor, const char *text,
                                     struct text_part *before)
{
    const size_t length = strlen(text);
    const char *found = memmem(cursor->at, (size_t)(cursor->end - cursor->at), text, length);
    if (found == NULL) {
        return false;
    }
    *before = (struct text_part){cursor->at, (size_t)(found - cursor->at)};
    cursor->at = found + length;
    return true;
}

/* The next line, without its end, which is passed over.  False: there is none. */
static inline bool cursor_next_line(struct cursor *cursor, struct cursor *line)
{
    if (cursor->at == cursor->end) {
        return false;
    }
    const char *feed = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    const char *end = feed == NULL ? cursor->end : feed;
    *line = (struct cursor){
        .at = cursor->at, .end = end, .line_begin = cursor->at, .line = cursor->line};
    line->end -= end > line->at && end[-1] == '\r' ? 1 : 0;
    cursor->at = feed == NULL ? end : feed + 1;
    cursor->line_begin = cursor->at;
    cursor->line++;
    return true;
}

/* Takes the end of the line, LF or CRLF. */
CURSOR_INLINE bool cursor_take_line_end(struct cursor *cursor)
{
    const bool has_return = cursor_is_at(cursor, '\r') && cursor->at + 1 < cursor->end &&
                            cursor->at[1] == '\n';
    cursor->at += has_return;
    if (!cursor_take(cursor, '\n')) {
        return false;
    }
    cursor->line_begin = cursor->at;
    cursor->line++;
    return true;
}

/* The next 8 bytes, the first of them lowest.  At least 8 must be left. */
CURSOR_INLINE uint64_t cursor_read_eight(const char *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bytes : __builtin_bswap64(bytes);
}

/* Returns the high bit of each byte that is no digit, as far as the first such byte; bits above it
 * mean nothing. bytes: 8 bytes from which '0' is taken. */
CURSOR_INLINE uint64_t cursor_find_non_digits(uint64_t bytes)
{
    return ((bytes + UINT64_C(0x7676767676767676)) | bytes) & UINT64_C(0x8080808080808080);
}

/* Up to 8 digits, all at once: neighbours are joined to pairs, these to fours, these to the number.
 * Returns how many. */
CURSOR_INLINE unsigned cursor_join_digits(const char *at, uint64_t *value)
{
    uint64_t bytes = cursor_read_eight(at) ^ UINT64_C(0x3030303030303030);
    const uint64_t wrong = cursor_find_non_digits(bytes);
    const unsigned count = wrong == 0 ? 8 : (unsigned)__builtin_ctzll(wrong) / 8;
    if (count == 0) {
        return 0;
    }
    bytes <<= (8 - count) * 8; /* zeros in front */
    bytes = (bytes * 10 + (bytes >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    bytes = (bytes * 100 + (bytes >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    *value = (bytes * 10000 + (bytes >> 32)) & UINT64_C(0x00000000FFFFFFFF);
    return count;
}

/* Takes a decimal number, at least one digit.  False: there is none, or it is above UINT64_MAX; the
 * cursor then stands where it stood. */
CURSOR_INLINE bool cursor_take_number(struct cursor *cursor, uint64_t *value)
{
    const char *at = cursor->at;
    uint64_t sum = 0;
    if (cursor->end - at >= 8) {
        const unsigned count = cursor_join_digits(at, &sum);
        if (count - 1 < 7) { /* 1 to 7: it ends here */
            cursor->at += count;
            *value = sum;
            return true;
        }
        at += count;
    }
    for (; at < cursor->end && (unsigned)(*at - '0') <= 9; at++) {
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (unsigned)(*at - '0'), &sum)) {
            return false;
        }
    }
    if (at == cursor->at) {
        return false;
    }
    cursor->at = at;
    *value = sum;
    return true;
}

/* Takes HH:MM:SS, a time of day, of which all 8 bytes are looked at together. */
CURSOR_INLINE bool cursor_take_clock(struct cursor *cursor, uint32_t *second)
{
    static const uint64_t pattern = UINT64_C(
        0x30303A30303A3030); /* "00:00:00", the first byte lowest */
    if (cursor->end - cursor->at < 8) {
        return false;
    }
    const uint64_t bytes = cursor_read_eight(cursor->at) ^ pattern;
    const uint32_t hours = (uint32_t)(bytes & 15) * 10 + (uint32_t)(bytes >> 8 & 15);
    const uint32_t minutes = (uint32_t)(bytes >> 24 & 15) * 10 + (uint32_t)(bytes >> 32 & 15);
    const uint32_t seconds = (uint32_t)(bytes >> 48 & 15) * 10 + (uint32_t)(bytes >> 56 & 15);
    if (cursor_find_non_digits(bytes) != 0 || (bytes & UINT64_C(0x0000FF0000FF0000)) != 0 ||
        hours > 23 || minutes > 59 || seconds > 60) {
        return false;
    }
    cursor->at += 8;
    *second = hours * 3600 + minutes * 60 + seconds;
    return true;
}

/* By character: its value as a hexadecimal digit, or 16 and more. */
extern const uint8_t cursor_hex_values[256];

/* Does the same for hexadecimal digits, of which 16 fit. */
CURSOR_INLINE bool cursor_take_hex(struct cursor *cursor, uint64_t *value)
{
    const char *at = cursor->at;
    const char *limit = cursor->end - at > 16 ? at + 16 : cursor->end;
    uint64_t sum = 0;
    for (unsigned digit; at < limit && (digit = cursor_hex_values[(unsigned char)*at]) < 16; at++) {
        sum = sum << 4 | digit;
    }
    if (at == cursor->at || (at < cursor->end && cursor_hex_values[(unsigned char)*at] < 16)) {
        return false;
    }
    cursor->at = at;
    *value = sum;
    return true;
}

/* The rest of the line, for messages: at most 40 bytes. */
static inline int cursor_rest_length(const struct cursor *cursor)
{
    int length = 0;
    while (length < 40 && cursor->at + length < cursor->end && cursor->at[length] != '\n' &&
           cursor->at[length] != '\r') {
        length++;
    }
    return length;
}

/* Fails because the text at the cursor is not what must be there: IMPORT_INCOMPLETE if the text
 * ends, so that it may be cut off, otherwise IMPORT_INVALID. what: "the size is not a number". */
enum import_result cursor_fail(const struct cursor *cursor, struct import_error *error,
                               const char *what);

#endif
