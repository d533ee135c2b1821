/* Plain data, member by member, in one of two encodings: JSON text, or a pickle of Python.  What is
 * written is the same document in both. */
#ifndef FORMATS_EXPORT_PRIVATE_DOCUMENT_H
#define FORMATS_EXPORT_PRIVATE_DOCUMENT_H

#include "formats/export/export.h"
#include "harness/base/writing.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { DOCUMENT_DEPTH_MAX = 8 };

struct export_document {
    bool is_pickle;
    struct writing text; /* what is not printed yet */
    /* By depth: members of the list so far that no APPENDS has taken. */
    uint32_t counts[DOCUMENT_DEPTH_MAX];
    unsigned depth;
};

/* A part is an element of a list of another document, printed behind what that has printed: such is
 * not begun. */
void document_init(struct export_document *document, bool is_pickle);
void document_deinit(struct export_document *document);

/* Write the beginning and the end of a file. */
void document_begin(struct export_document *document);
void document_end(struct export_document *document);

/* Writes the items of a pattern, with one blank between two:
 *     { [ } ]           brackets; as elements of a list, those that open
 *     key:{ key:[       members of a dictionary
 *     key:s key:n key:f a string (const char *, UTF-8), a number (uint64_t below 2^63), false
 *     :n                a number as an element
 *     key:u             in JSON alone, nanoseconds as microseconds (uint64_t)
 *     key=word key#9    a string and a number that the pattern has itself
 * and for people who read JSON
 *     ~                 a line break between elements
 *     .                 the one before the bracket at their end
 *     ,                 what stands between two parts */
void document_write(struct export_document *document, const char *pattern, ...);

/* Writes what there is, and goes on behind it. */
void document_print(struct export_document *document, FILE *stream);

/* The traces come before the segments are known. */
struct torch_export {
    bool is_pickle;
    struct export_document traces[OP_HOST_COUNT_MAX];
};

bool torch_document_begin(struct export *export, bool is_pickle);
void torch_document_event(struct export *export, const struct export_event *event);
bool torch_document_end(struct export *export, const struct export_final *final);

#endif
