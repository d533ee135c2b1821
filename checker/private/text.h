/* Reads what comes from outside and is not what it seems: lines, words and numbers of a text, and
 * JSON. */
#ifndef CHECKER_PRIVATE_TEXT_H
#define CHECKER_PRIVATE_TEXT_H

#include "checker/certificate_check.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lines of a text from outside, and the words and numbers in them.  Nothing is taken for
 * granted of the bytes: each call has their bounds. */

/* Points into the text. */
struct text_word {
    const char *text;
    size_t length;
};

/* The lines of a text, one after the other. */
struct lines {
    const char *name; /* of the text, for the reason */
    const char *at, *end;
    size_t number;         /* of the line, from 1 */
    struct text_word line; /* without its newline */
    char *reason;          /* CERTIFICATE_REASON_BYTES */
};

void lines_init(struct lines *lines, const struct certificate_text *text, char *reason);
/* Moves to the next line.  False: there is none, or the last one has no newline: then line is what
 * there is of it. */
bool lines_next(struct lines *lines);
/* Returns false; the reason becomes "NAME:LINE: ...", in printable ASCII. */
__attribute__((format(printf, 2, 3))) bool lines_fail(struct lines *lines, const char *format, ...);
/* Replaces what is not printable ASCII. */
void text_make_printable(char *text);

/* Returns how many of the word's bytes a reason shows. */
int word_shown(struct text_word word);
bool word_is(struct text_word word, const char *text);
/* The index of the word in words, which are separated by |; -1: it is none of them. */
int word_find(struct text_word word, const char *words);
/* Cuts at the first `mark`: *head is what was before it, *word what is behind.  Without one all is
 * head, and false is returned. */
bool word_cut(struct text_word *word, char mark, struct text_word *head);

/* Decimal digits without needless zeros; *number is at most max. */
bool word_number(struct text_word word, uint64_t max, uint64_t *number);
/* Bytes: digits, and K, M, G, T, P or E for powers of 1024. */
bool word_size(struct text_word word, uint64_t *bytes);
/* Nanoseconds: digits with h, m, s, ms, us or ns, or "never", which is UINT64_MAX. */
bool word_duration(struct text_word word, uint64_t *ns);

/* Room for one more element; NULL: there is no memory, and the array is as before. */
void *array_with_room(void *array, size_t count, size_t *capacity, size_t element_bytes);

/* Reads JSON that comes from outside, and is not what it seems. */

/* NULL: the text is not JSON, or an object has a member twice; line and column of error are set.
 * Jansson alone reads over a NUL behind a number. */
json_t *json_read(const char *text, size_t length, json_error_t *error);

#endif
