/* Reads sentences of a runtime out of any noise: line breaks between two words, as characters or as
 * the text "\n", and a log prefix at the start of a line. */
#ifndef FORMATS_COMMON_PHRASE_H
#define FORMATS_COMMON_PHRASE_H

#include "formats/common/printed_size.h"

/* A place in a text; at <= length.  The text may hold any bytes.  A call that answers false leaves
 * it where it was. */
struct phrase_cursor {
    const char *text;
    size_t length;
    size_t at;
};

static inline bool phrase_is_at_end(const struct phrase_cursor *cursor)
{
    return cursor->at >= cursor->length;
}

/* NUL at the end, too. */
static inline char phrase_peek(const struct phrase_cursor *cursor)
{
    return phrase_is_at_end(cursor) ? '\0' : cursor->text[cursor->at];
}

/* A letter, a digit or '_'. */
static inline bool phrase_is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Bytes of the word, of such characters, that begins here; 0: none does. */
static inline size_t phrase_word_length(const struct phrase_cursor *cursor)
{
    size_t at = cursor->at;
    while (at < cursor->length && phrase_is_word(cursor->text[at])) {
        at++;
    }
    return at - cursor->at;
}

/* The next place from byte `at` on where a sentence may begin: every place where a small letter
 * follows a capital one is such, and few others are.  length: there is none.  Logs are long, so
 * this passes gigabytes a second. */
size_t phrase_next_beginning(const char *text, size_t length, size_t at);

/* Skips blanks, line breaks with the known log prefixes behind them (log_prefix.h; of at most 8
 * lines), and line breaks as text ("\n" in JSON or a Python repr), with what follows the string in
 * a line of JSON.  True when a real line break was among them.  O(what is skipped). */
bool phrase_skip_gap(struct phrase_cursor *cursor);
/* True if the word begins here, and does not go on. */
bool phrase_word_is_here(const struct phrase_cursor *cursor, const char *word, size_t word_length);
/* Takes the words of a phrase (one blank between two), each after any gap, and after a log prefix
 * of at most 256 bytes where the gap had a line break. */
bool phrase_take(struct phrase_cursor *cursor, const char *phrase);
/* Takes the first of these phrases that stands there, in the same way, and returns its index;
 * count: none does. */
size_t phrase_take_one(struct phrase_cursor *cursor, const char *const *phrases, size_t count);
bool phrase_take_character(struct phrase_cursor *cursor, char c);
/* Takes a printed size, after any gap.  A number without unit at the very end may be cut: not
 * taken. */
bool phrase_take_size(struct phrase_cursor *cursor, struct size_range *range);
/* Takes a size of another spelling, number and unit apart or together: "9.06 GiB", "512 bytes",
 * "82514MiB".  Units are powers of 1024, "GB" and "GiB" alike. */
bool phrase_take_unit_size(struct phrase_cursor *cursor, struct unit_size *size);
/* Takes a count of bytes up to 2^63, with or without separators of thousands, after any gap. */
bool phrase_take_count(struct phrase_cursor *cursor, uint64_t *count);

/* Takes the items of a pattern, with one blank between two, in turn.  An item is
 *     a word  itself, as phrase_take() takes it       %S  a printed size: struct size_range *
 *     [x]     that character, if it stands right here %C  the same: struct compile_size *
 *     {x}     that character, right here              %U  "9.06 GiB": struct unit_size *
 *     %N      a count: uint64_t *                     %E  a count, exact: struct compile_size *
 * False: what was taken before the item that is not there is set. */
bool phrase_scan(struct phrase_cursor *cursor, const char *pattern, ...);

/* Writes a sentence on one line, as much of it as room bytes hold: each run of blanks, line breaks
 * and NULs becomes one blank, and none is at the beginning. */
void phrase_print(const char *text, size_t length, char *to, size_t room);

#endif
