/* Options as rows: a row says what an option is called, which values it takes, where a value is
 * kept and what is said of a wrong one.  The command line, job files and targets read theirs so. */
#ifndef HARNESS_BASE_OPTION_H
#define HARNESS_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of value that an option has, and the C type that its row's offset leads to.  A number
 * takes size_bytes (1, 2, 4 or 8). */
enum option_kind {
    OPTION_OTHER = 0, /* what the row's own set makes of it */
    OPTION_FLAG,      /* bool: true without a value; with one, "yes" or "no" */
    OPTION_TEXT,      /* const char *, which points to the value: not empty; at most `most` bytes */
    OPTION_TEXTS,     /* at most `most` of these, and a size_t at flag_offset counts them */
    OPTION_NUMBER,    /* from least to most, as all that follow but words */
    OPTION_SIZE,      /* bytes, as 512 or 16G */
    OPTION_POWER,     /* the same, a power of two */
    OPTION_DURATION,  /* nanoseconds, as 30s */
    OPTION_PERCENT,   /* 5 or 5% */
    OPTION_WORD,      /* one of words: its number, the first being least */
    OPTION_ORDER,     /* all words, commas between them: an array of their numbers, as of a word */
};

/* One option; all of it is constant.  Offsets are from the base of option_set, which the rows of
 * one table have in common. */
struct option_row {
    const char *name;     /* "--seed"; of a target its key */
    const char *alias;    /* one letter, "-s"; NULL = none */
    const char *argument; /* what a value is, as --help shows it; NULL: it takes none */
    const char *help;     /* one sentence */
    enum option_kind kind;
    size_t offset, size_bytes;
    size_t flag_offset; /* of a bool that a value makes true; 0 = none */
    uint64_t least;
    uint64_t most;     /* 0 = no bound */
    uint64_t usual;    /* of a number: where nobody gives one */
    const char *words; /* "a|b|c", in the order of their numbers; NULL = the argument has them */
    const char *wrong; /* said of a wrong value; NULL = what its kind says */
    /* OPTION_OTHER: sets what it likes of base.  NULL, or what is wrong with the value, valid until
     * the next call. */
    const char *(*set)(void *base, const char *value);
    const char *key; /* in a job file; NULL = there is none */
    bool is_global;  /* the key stands in [global] alone */
};

/* Members of a row: where `member` of `type` lies. */
#define OPTION_AT(type, member) \
    .offset = offsetof(type, member), .size_bytes = sizeof((type *)0)->member
/* Types of members, by kind. */
#define OPTION_TYPE_FLAG bool
#define OPTION_TYPE_TEXT const char *
#define OPTION_TYPE_NUMBER uint64_t
#define OPTION_TYPE_SIZE uint64_t
#define OPTION_TYPE_DURATION uint64_t
#define OPTION_TYPE_PERCENT uint64_t

/* Sets what the row is about to the value, which is NULL for a row without an argument; texts stay
 * the caller's.  NULL; or what is wrong, to follow the value in quotes, and then nothing is set.  A
 * reason is valid until the thread's next call. */
const char *option_set(const struct option_row *row, void *base, const char *value);

/* The row of rows[count] with that name; NULL: there is none. */
const struct option_row *option_find(const struct option_row *rows, size_t count, const char *name);
/* Gives all numbers that have one their usual value. */
void option_set_usual(const struct option_row *rows, size_t count, void *base);

/* True if base gives a value for the row.  The row's flag is true then; a row without a flag has
 * some byte in its value that is not 0. */
bool option_is_given(const struct option_row *row, const void *base);
/* Takes the value of the row in *over over into *base, as given. */
void option_copy(const struct option_row *row, void *base, const void *over);

/* Puts the low 1, 2, 4 or 8 bytes of the number at a member of that size. */
void number_store(void *at, size_t size_bytes, uint64_t number);

#endif
