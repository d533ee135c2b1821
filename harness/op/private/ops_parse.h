/* The text of an .ops file as the files of its parser share it: words and numbers
 * (ops_parse_words.c), the head of a list (ops_parse_head.c, ops_parse_hosts.c), the fields of an
 * op (ops_parse_fields.c), and the lines that hold them (ops_parse.c). */
#ifndef HARNESS_OP_PRIVATE_OPS_PARSE_H
#define HARNESS_OP_PRIVATE_OPS_PARSE_H

#include "harness/op/ops_file.h"

#include <string.h>

/* Points into the text; not NUL-terminated. */
struct word {
    const char *text;
    size_t length;
};

struct parser {
    const char *at; /* in the current line */
    const char *line;
    const char *line_end;
    size_t json_add_number;
    struct setup *setup;
    struct op_list *list;
    uint64_t *labels; /* of the ops so far, ascending; NULL while each is its index */
    size_t label_capacity;
    /* the op under way has call=, delay=, to=, stream= */
    bool names_fault, names_delay, names_lane, names_stream;
    uint32_t heads_named;  /* bit per row of heads[] */
    uint64_t clocks_named; /* bit per host */
    bool names_lanes;      /* an op has a lane, or is a switch */
    bool tags_named[OP_TAG_COUNT];
    struct ops_file_error *error;
};

/* --- words --- */

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

/* KEY=VALUE; false: the word has no '='. */
bool word_split(struct word word, struct word *key, struct word *value);
/* Puts one more name into a text of so many bytes, "" at first: "v4, v5e". */
void names_append(char *names, size_t names_bytes, const char *name);

/* --- what is read from a line: false is an error, which the parser then has --- */

/* The error is at `at`, in the current line; returns false. */
bool parser_fail(struct parser *parser, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void parser_skip_blanks(struct parser *parser);
/* The next blank-separated word; length 0 at the end of the line. */
struct word parser_next_word(struct parser *parser);
/* Returns all from `from` to the end of the line but the blanks at that end; does not move on.
 */
struct word parser_rest(const struct parser *parser, const char *from);
bool parser_copy(struct parser *parser, struct word word, char *to, size_t to_bytes);
bool parser_size(struct parser *parser, struct word word, uint64_t *size_bytes);
bool parser_number(struct parser *parser, struct word word, uint64_t max, uint64_t *number);

/* --- lines --- */

/* setup and list are empty then; error is the caller's.  begin and end pair. */
void parser_begin(struct parser *parser, struct setup *setup, struct op_list *list,
                  struct ops_file_error *error);
void parser_end(struct parser *parser);
/* The lines of a part of the text, which begins with one: *parsed bytes are done, and what is
 * behind them has no end yet.  The last part is done whole. */
bool parser_lines(struct parser *parser, const char *text, size_t length, bool is_last,
                  size_t *parsed);
/* A line of the head that begins with the word key. */
bool parser_head(struct parser *parser, struct word key);
/* "NAME", to the end of the line; what: of a tag, of a group. */
bool parser_quoted(struct parser *parser, const char *what, char *name, size_t bytes);
/* "own" */
bool parser_clocks(struct parser *parser, struct word word);
/* HOST ahead=DURATION drift=MILLIONTHS */
bool parser_clock(struct parser *parser, struct word word);
bool parser_collective_bound(struct parser *parser, struct word word);
/* NUMBER HOSTS "NAME", with HOSTS such as 0-3,8 */
bool parser_group(struct parser *parser, struct word word);
/* HOSTS, and perhaps BYTES */
bool parser_shares(struct parser *parser, struct word word);
/* After the last line: whether these go with the number of hosts, and with the ops. */
bool parser_check_hosts(struct parser *parser);
/* The fields of an op up to the end of the line, and whether they go together. */
bool parser_fields(struct parser *parser, struct op *op);
/* The index of the op with that number in the file; false: there is none above. */
bool parser_find_label(const struct parser *parser, uint64_t label, uint32_t *index);

#endif
