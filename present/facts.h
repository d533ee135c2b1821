/* What a command found, filled once and told in two forms: lines of JSON, or words and tables for a
 * terminal.
 *
 * Facts are records, whose members have names, and words between them.  A record is a line of JSON.
 * People read its members where a table shows them, and words everywhere. */
#ifndef PRESENT_FACTS_H
#define PRESENT_FACTS_H

#include "harness/base/writing.h"
#include "harness/op/setup.h"

enum facts_form { FACTS_JSON, FACTS_WORDS };

/* How people read a member; the remark says what JSON has. */
enum fact_unit {
    FACT_TEXT,    /* the text */
    FACT_COUNT,   /* a number */
    FACT_SIZE,    /* people: "8.00M"; the number of bytes */
    FACT_SHARE,   /* people: "12.34 %"; a fraction from 0 to 1 */
    FACT_DIGITS,  /* a string of digits: seeds and digests */
    FACT_SECONDS, /* thousandths of seconds, of nanoseconds */
    FACT_BOOLEAN, /* people: "yes" or "no" */
    FACT_NULL     /* people: nothing */
};

/* A column of a table: which member of each record it shows.  A title that begins with '#' is of
 * numbers, which stand to the right; so do all columns behind it. */
struct facts_column {
    const char *name;  /* the member; a record without it leaves the cell empty */
    const char *title; /* without '#' in what is printed */
};

/* Zero is a valid start.  Names, titles and columns are kept as pointers until facts_clear(). */
struct facts {
    struct writing texts;
    struct fact *facts; /* count of them */
    size_t count, capacity;
};

void facts_clear(struct facts *facts);
void facts_deinit(struct facts *facts);

/* A record, and its members until facts_close().  type NULL: no line of JSON, for people alone. */
void facts_open(struct facts *facts, const char *type);
void facts_close(struct facts *facts);
/* An object '{' or an array '[' in the open record; the elements of an array have no name. */
void facts_nest(struct facts *facts, const char *name, char bracket);
void facts_unnest(struct facts *facts, char bracket);

void facts_text(struct facts *facts, const char *name, const char *text);
/* The same, unless the text is empty. */
void facts_text_if(struct facts *facts, const char *name, const char *text);
void facts_count(struct facts *facts, const char *name, uint64_t count);
void facts_size(struct facts *facts, const char *name, uint64_t size_bytes);
void facts_share(struct facts *facts, const char *name, uint64_t part, uint64_t whole);
void facts_digits(struct facts *facts, const char *name, uint64_t number);
void facts_seconds(struct facts *facts, const char *name, uint64_t duration_ns);
void facts_boolean(struct facts *facts, const char *name, bool is_true);
void facts_null(struct facts *facts, const char *name);
/* The number where it is known, and null otherwise. */
void facts_count_or_null(struct facts *facts, const char *name, bool is_known, uint64_t count);
/* The target of a setup and its options; the setup is there until facts_clear(). */
void facts_target(struct facts *facts, const struct setup *setup);
/* A member for the tables alone: JSON does not have it. */
void facts_cell(struct facts *facts, const char *name, const char *text);
void facts_cell_format(struct facts *facts, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void facts_cell_size(struct facts *facts, const char *name, uint64_t size_bytes);
void facts_cell_count(struct facts *facts, const char *name, uint64_t count);
void facts_cell_share(struct facts *facts, const char *name, uint64_t part, uint64_t whole);

/* The records until facts_table_end() are the rows; without a record there is no table.  A column
 * whose cells are all empty is not printed if it has no title. */
void facts_table(struct facts *facts, const struct facts_column *columns, size_t count);
void facts_table_end(struct facts *facts);
/* The same with so many blanks before each line. */
void facts_table_in(struct facts *facts, size_t indent, const struct facts_column *columns,
                    size_t count);

/* Words are for people alone; foreign text in them is made visible.  A heading stands behind an
 * empty line, and is broken as wrap_answer() breaks it. */
void facts_heading(struct facts *facts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A paragraph behind lead (blanks, "  - "), broken between words.  Its first line counts as indent
 * columns wide before it begins, each further line begins with as many blanks. */
void facts_say(struct facts *facts, const char *lead, size_t indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A line of any form, broken as wrap_answer() breaks it. */
void facts_answer(struct facts *facts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of several lines. */
void facts_answers(struct facts *facts, const struct writing *lines);
/* A line that is never broken: a path, or a command to copy; "" is an empty line. */
void facts_line(struct facts *facts, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of several lines. */
void facts_lines(struct facts *facts, const struct writing *lines);

/* JSON that another room appends to what is returned, until facts_given_end(): members of the open
 * record or, where none is open, lines. */
struct writing *facts_given(struct facts *facts);
void facts_given_end(struct facts *facts);

/* Appends all of it in that form. */
void facts_print(const struct facts *facts, enum facts_form form, struct writing *text);

#endif
