/* The words of a line of text. */
#ifndef HARNESS_OP_PRIVATE_OPS_WORDS_H
#define HARNESS_OP_PRIVATE_OPS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Points into the text; not NUL-terminated. */
struct word {
    const char *text;
    size_t length;
};

static inline bool words_equal(struct word a, struct word b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static inline bool word_is(struct word word, const char *text)
{
    return words_equal(word, (struct word){text, strlen(text)});
}

/* A word for an error text: at most 40 characters of it. */
static inline int shown(struct word word)
{
    return word.length > 40 ? 40 : (int)word.length;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7F;
}

/* A power of two from min, at least 1, to max. */
static inline bool is_power(uint64_t value, uint64_t min, uint64_t max)
{
    return value >= min && value <= max && (value & (value - 1)) == 0;
}

/* Splits at the first mark, as KEY=VALUE at '='.  False: there is none, and *head is the word. */
bool word_split(struct word word, char mark, struct word *head, struct word *rest);
/* Moves *at to the end of the next blank-separated word before `end`; length 0: there is none. */
struct word word_next(const char **at, const char *end);

#endif
