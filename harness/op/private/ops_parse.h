/* The text of an .ops file as the files of its parser share it: words and numbers
 * and the lines that hold them (ops_parse.c), the head of a list (ops_parse_head.c), and the fields
 * of an op (ops_fields.c). */
#ifndef HARNESS_OP_PRIVATE_OPS_PARSE_H
#define HARNESS_OP_PRIVATE_OPS_PARSE_H

#include "harness/op/ops_file.h"
#include "harness/op/private/ops_words.h"

struct parser {
    const char *at; /* in the current line */
    const char *line;
    const char *line_end;
    size_t line_number;
    struct setup *setup;
    struct op_list *list;
    uint64_t *labels; /* of the ops so far, ascending; NULL while each is its index */
    size_t label_capacity;
    uint32_t fields_named, values_named; /* by the op under way: see ops_fields.c */
    uint32_t heads_named;                /* bit per row of heads[] */
    uint64_t clocks_named;               /* bit per host */
    bool names_lanes;                    /* an op has a lane, or is a switch */
    bool tags_named[OP_TAG_COUNT];
    struct ops_file_error *error;
};

/* Puts one more name into a text of so many bytes, "" at first: "v4, v5e". */
void names_append(char *names, size_t names_bytes, const char *name);

/* --- what is read from a line: false is an error, which the parser then has --- */

/* The error is at `at`, in the current line; returns false. */
bool parser_fail(struct parser *parser, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The next blank-separated word; length 0 at the end of the line. */
struct word parser_next_word(struct parser *parser);
/* Returns all from `from` to the end of the line but the blanks at that end; does not move on.
 */
struct word parser_rest(const struct parser *parser, const char *from);
bool parser_copy(struct parser *parser, struct word word, char *to, size_t to_bytes);
bool parser_size(struct parser *parser, struct word word, uint64_t *size_bytes);
bool parser_number(struct parser *parser, struct word word, uint64_t max, uint64_t *number);

/* --- lines --- */

/* A line of the head that begins with the word key. */
bool parser_head(struct parser *parser, struct word key);
/* After the last line: whether clocks, groups and a shared device go with the number of hosts, and
 * with the ops. */
bool parser_check_hosts(struct parser *parser);
/* The fields of an op up to the end of the line, and whether they go together. */
bool parser_fields(struct parser *parser, struct op *op);
/* The index of the op with that number in the file; false: there is none above. */
bool parser_find_label(const struct parser *parser, uint64_t label, uint32_t *index);

#endif
