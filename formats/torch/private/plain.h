/* Plain data as a file has it, numbers and texts in lists and dicts, at 8 bytes a value: a snapshot
 * has millions of them.  Dicts with the same keys in the same order share one list of keys, their
 * shape.  Texts stay where they are in the file. */
#ifndef FORMATS_TORCH_PRIVATE_PLAIN_H
#define FORMATS_TORCH_PRIVATE_PLAIN_H

#include "formats/common/import_error.h"
#include "formats/common/tags.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plain_kind {
    PLAIN_NOTHING = 0, /* what a dict does not have */
    PLAIN_NULL,
    PLAIN_TRUE,
    PLAIN_FALSE,
    PLAIN_NUMBER,
    PLAIN_WIDE, /* a number that has no room inside the value, not negative */
    PLAIN_WIDE_NEGATIVE,
    PLAIN_REAL,
    PLAIN_TEXT,
    PLAIN_LIST,
    PLAIN_DICT
};

/* A kind, and the number itself or an index.  Zero is PLAIN_NOTHING. */
struct plain_value {
    uint64_t kind : 4;
    uint64_t payload : 60;
};

/* A text of the file; not ended by a NUL. */
struct plain_text {
    const char *at;
    uint32_t length;
    uint32_t key; /* 1 + its index among the keys; 0 = it was never one */
};

/* A list or a dict: values[first..first + count - 1].  It may be filled until it is closed: one
 * that is part of another is, so that nothing can come to contain itself. */
struct plain_box {
    uint64_t first : 40, depth : 8, step_count : 8, is_closed : 1;
    uint32_t count;
    union {
        uint32_t room;  /* of a list */
        uint32_t shape; /* of a dict that is not empty */
    };
};

/* keys[first..first + count - 1] of a tree, by number. */
struct plain_shape {
    uint32_t first, count;
};

/* Holds all values of a file; zero is an empty tree.  A value that the file shares is shared here,
 * so whoever walks a tree must bound how often values are visited. */
struct plain_tree {
    struct plain_value *values;
    size_t value_count, value_room;
    struct plain_box *boxes;
    size_t box_count, box_room;
    struct plain_text *texts;
    size_t text_count, text_room;
    uint64_t *wides; /* numbers of 64 bits, and doubles, as their bits */
    size_t wide_count, wide_room;
    struct name_table names;    /* of keys */
    struct plain_text *spelled; /* names.count: each key as it is spelled */
    size_t spelled_room;
    uint32_t *last_box; /* names.count: 1 + the last dict that got this key */
    size_t last_box_room;
    struct plain_shape *shapes;
    size_t shape_room;
    struct name_table shape_names; /* of the bytes of their keys: as many as shapes */
    uint32_t *keys;
    size_t key_count, key_room;
    uint32_t shape_last; /* found last; valid when there are shapes */
};
void plain_deinit(struct plain_tree *tree);

/* --- to make them --- */

struct plain_value plain_make(enum plain_kind kind); /* of no payload */
struct plain_value plain_make_number(struct plain_tree *tree, int64_t number);
struct plain_value plain_make_unsigned(struct plain_tree *tree, uint64_t number);
struct plain_value plain_make_real(struct plain_tree *tree, double number);
/* The text must outlive the tree.  length < 2^32. */
struct plain_value plain_make_text(struct plain_tree *tree, const char *at, size_t length);
/* An empty list or dict. */
struct plain_value plain_make_box(struct plain_tree *tree, enum plain_kind kind);

enum plain_result {
    PLAIN_DONE,
    PLAIN_CLOSED,   /* it is already part of another one, or was closed */
    PLAIN_TOO_DEEP, /* more than PLAIN_DEPTH_MAX in each other */
    PLAIN_NO_KEY,   /* a key is no text */
    PLAIN_KEY_TWICE,
    PLAIN_TOO_MANY, /* more than 2^32 values; a dict that is filled in more than PLAIN_STEPS_MAX
                       steps */
};
enum {
    PLAIN_DEPTH_MAX = 64, /* snapshots have 10 */
    PLAIN_STEPS_MAX = 64  /* each step makes a new shape; the pickler has 1000 keys a step */
};
/* Each adds to a box that is not closed, and closes what it adds.  A dict gets pairs of a key and a
 * value, count values in all.  *at becomes the index of what was refused. */
enum plain_result plain_fill_list(struct plain_tree *tree, struct plain_value list,
                                  const struct plain_value *values, size_t count, size_t *at);
enum plain_result plain_fill_dict(struct plain_tree *tree, struct plain_value dict,
                                  const struct plain_value *pairs, size_t count, size_t *at);
void plain_close(struct plain_tree *tree, struct plain_value box);

/* --- to read them --- */

static inline bool plain_is_number(struct plain_value value)
{
    return value.kind == PLAIN_NUMBER || value.kind == PLAIN_WIDE ||
           value.kind == PLAIN_WIDE_NEGATIVE;
}

/* Bit 59 is the sign. */
static inline bool plain_is_negative(struct plain_value value)
{
    return value.kind == PLAIN_WIDE_NEGATIVE ||
           (value.kind == PLAIN_NUMBER && (value.payload >> 59 & 1) != 0);
}

/* The number modulo 2^64; 0 of what is none. */
static inline uint64_t plain_number(const struct plain_tree *tree, struct plain_value value)
{
    if (value.kind == PLAIN_NUMBER) {
        const uint64_t payload = value.payload;
        return payload | ((payload >> 59 & 1) != 0 ? UINT64_C(15) << 60 : 0);
    }
    return plain_is_number(value) ? tree->wides[value.payload] : 0;
}

/* NULL: it is no text. */
static inline const struct plain_text *plain_text(const struct plain_tree *tree,
                                                  struct plain_value value)
{
    return value.kind == PLAIN_TEXT ? &tree->texts[value.payload] : NULL;
}

static inline bool plain_is_text(const struct plain_tree *tree, struct plain_value value,
                                 const char *expected)
{
    const struct plain_text *text = plain_text(tree, value);
    return text != NULL && text->length == __builtin_strlen(expected) &&
           __builtin_memcmp(text->at, expected, text->length) == 0;
}

/* Counts the values of a list or a dict; 0 for anything else. */
static inline size_t plain_count(const struct plain_tree *tree, struct plain_value value)
{
    return value.kind == PLAIN_LIST || value.kind == PLAIN_DICT ? tree->boxes[value.payload].count
                                                                : 0;
}

/* i < plain_count(). */
static inline struct plain_value plain_at(const struct plain_tree *tree, struct plain_value box,
                                          size_t i)
{
    return tree->values[tree->boxes[box.payload].first + i];
}

/* The key of value i of a dict. */
static inline const struct plain_text *plain_key_at(const struct plain_tree *tree,
                                                    struct plain_value dict, size_t i)
{
    const struct plain_shape *shape = &tree->shapes[tree->boxes[dict.payload].shape];
    return &tree->spelled[tree->keys[shape->first + i]];
}

/* PLAIN_NOTHING: it is no dict, or has no such key.  O(keys). */
struct plain_value plain_get(const struct plain_tree *tree, struct plain_value dict,
                             const char *key);

/* --- pickles --- */

enum {
    PICKLE_STACK_MAX =
        1 << 20, /* values that wait to be put into a container; the pickler leaves 1000 a level */
    PICKLE_FIRST_BYTE = 0x80, /* of protocol 2 and later */
    PICKLE_PROTOCOL_MIN = 2,
    PICKLE_PROTOCOL_MAX = 5
};

/* Decodes text[length], one whole pickle, into *tree, which is empty and the caller's to deinit,
 * whatever comes of it; texts stay in `text`.  Tuples become lists, None null, a float that is not
 * finite null.  What the pickle shares is shared, and no value contains itself: who walks the tree
 * must bound how often shared values are visited.
 *
 * IMPORT_INCOMPLETE: the text ends inside.  IMPORT_INVALID: a refused opcode, bytes behind the end,
 * a text that is not UTF-8 or has a NUL in it, an integer beyond 64 bits, a key that is no text or
 * is given twice, a container that is changed after it was put into another or fetched from the
 * memo (so that it could contain itself), more than the bounds above and those of the tree.
 * error->reason has the byte offset, from 0; *root is untouched on failure.
 *
 * O(length) time; host memory is about 2 bytes for each byte of a snapshot, and at worst 100. */
enum import_result pickle_read(const char *text, size_t length, struct plain_tree *tree,
                               struct plain_value *root, struct import_error *error);

/* True if the text begins as such a pickle does.  O(1). */
bool pickle_recognise(const char *text, size_t length);

#endif
