/* Plain data, member by member, in one of two encodings: JSON text, or a pickle of Python.  What is
 * written is the same document in both. */
#ifndef FORMATS_EXPORT_PRIVATE_DOCUMENT_H
#define FORMATS_EXPORT_PRIVATE_DOCUMENT_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { DOCUMENT_DEPTH_MAX = 8 };

struct document {
    const struct document_encoding *encoding;
    struct writing text; /* what is not printed yet */
    /* By depth: members of the list so far that no APPENDS has taken. */
    uint32_t counts[DOCUMENT_DEPTH_MAX];
    unsigned depth;
};

/* How a member is encoded.  key NULL: an element of a list. */
struct document_encoding {
    void (*begin)(struct document *document); /* what a file begins with */
    void (*nest)(struct document *document, const char *key, char bracket); /* '{' or '[' */
    void (*unnest)(struct document *document, char bracket);                /* '}' or ']' */
    void (*add_string)(struct document *document, const char *key, const char *value); /* UTF-8 */
    void (*add_number)(struct document *document, const char *key, uint64_t value); /* below 2^63 */
    void (*add_false)(struct document *document, const char *key);
    void (*end)(struct document *document); /* what a file ends with */
    /* Between elements and before the bracket at their end, for people who read it; and before a
     * part that is not the first. */
    void (*break_line)(struct document *document);
    void (*end_lines)(struct document *document);
    void (*separate)(struct document *document);
};
extern const struct document_encoding document_json, document_pickle;

/* A part is an element of a list of another document, printed behind what that has printed. */
void document_init(struct document *document, const struct document_encoding *encoding);
void document_deinit(struct document *document);

/* Writes what there is, and goes on behind it. */
void document_print(struct document *document, FILE *stream);

static inline void document_begin(struct document *document)
{
    document->encoding->begin(document);
}
static inline void document_nest(struct document *document, const char *key, char bracket)
{
    document->encoding->nest(document, key, bracket);
}
static inline void document_unnest(struct document *document, char bracket)
{
    document->encoding->unnest(document, bracket);
}
static inline void document_add_string(struct document *document, const char *key,
                                       const char *value)
{
    document->encoding->add_string(document, key, value);
}
static inline void document_add_number(struct document *document, const char *key, uint64_t value)
{
    document->encoding->add_number(document, key, value);
}
static inline void document_add_false(struct document *document, const char *key)
{
    document->encoding->add_false(document, key);
}
static inline void document_end(struct document *document)
{
    document->encoding->end(document);
}
static inline void document_break_line(struct document *document)
{
    document->encoding->break_line(document);
}
static inline void document_end_lines(struct document *document)
{
    document->encoding->end_lines(document);
}
static inline void document_separate(struct document *document)
{
    document->encoding->separate(document);
}

#endif
