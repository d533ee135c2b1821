/* What the opcodes of a pickle work on: the stack, its marks, the memo, and the tree that grows. */
#ifndef FORMATS_TORCH_PRIVATE_PICKLE_READER_H
#define FORMATS_TORCH_PRIVATE_PICKLE_READER_H

#include "formats/torch/private/pickle.h"

#include <stdint.h>

struct pickle_reader {
    const char *text;
    size_t length;
    size_t at;    /* the next byte */
    size_t begin; /* the opcode that runs */
    const char *name;
    bool is_ended;
    struct plain_tree *tree;
    struct plain_value *stack;
    size_t stack_count, stack_room;
    size_t *marks; /* heights of the stack; what is below the last one is out of reach */
    size_t mark_count, mark_room;
    struct plain_value *memo;
    size_t memo_count, memo_room;
    struct import_error *error;
};

/* Sets *error: "byte N: NAME: reason". */
enum import_result pickle_fail(struct pickle_reader *reader, enum import_result result,
                               const char *reason, ...) __attribute__((format(printf, 3, 4)));

void pickle_reader_init(struct pickle_reader *reader, const char *text, size_t length,
                        struct plain_tree *tree, struct import_error *error);
void pickle_reader_deinit(struct pickle_reader *reader);

/* The next count bytes.  IMPORT_INCOMPLETE: so many are not there. */
enum import_result pickle_take(struct pickle_reader *reader, uint64_t count,
                               const unsigned char **bytes);
/* An unsigned number of 1 to 8 bytes, the lowest first. */
enum import_result pickle_take_number(struct pickle_reader *reader, unsigned byte_count,
                                      uint64_t *number);

enum import_result pickle_push(struct pickle_reader *reader, struct plain_value value);
/* Takes the topmost count values away. */
void pickle_drop(struct pickle_reader *reader, size_t count);
/* How many values lie above the last mark, or on the stack when there is none. */
size_t pickle_above_mark(const struct pickle_reader *reader);
/* IMPORT_INVALID: fewer than count lie above the last mark. */
enum import_result pickle_need(struct pickle_reader *reader, size_t count);
enum import_result pickle_mark(struct pickle_reader *reader);
/* Takes the last mark away; *count: the values above it. */
enum import_result pickle_unmark(struct pickle_reader *reader, size_t *count);

/* The topmost count values go into the container right below them, a list or a dict (keys and
 * values in turn), and off the stack. */
enum import_result pickle_fill_list(struct pickle_reader *reader, size_t count);
enum import_result pickle_fill_dict(struct pickle_reader *reader, size_t count);
/* The topmost count values become one list, tuple or dict in their place, which is closed: the
 * pickler adds nothing to it. */
enum import_result pickle_gather(struct pickle_reader *reader, size_t count, enum plain_kind kind);

/* The topmost value is kept under that number, which is at most the next one. */
enum import_result pickle_memo_put(struct pickle_reader *reader, uint64_t index);
/* It is on the stack once more, and closed. */
enum import_result pickle_memo_get(struct pickle_reader *reader, uint64_t index);

#endif
