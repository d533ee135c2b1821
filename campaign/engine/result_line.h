/* A line of results.jsonl: its members as values, and its text, of which a copy changes paths
 * alone: a number comes out with the digits that it had. */
#ifndef CAMPAIGN_ENGINE_RESULT_LINE_H
#define CAMPAIGN_ENGINE_RESULT_LINE_H

#include "harness/base/writing.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* length bytes without the newline, which belong to somebody else; values is NULL until they are
 * read. */
struct result_line {
    const char *text;
    size_t length;
    json_t *values;
};

/* Reads the text as one object whose paths stand in it as we print them.  False: it is none, and
 * values stays NULL. */
bool result_line_read(struct result_line *line);
/* Releases the values. */
void result_line_forget(struct result_line *line);

/* These search a line that was read, and only its own members, not those nested inside them.  The
 * number is below 2^63; the text belongs to the line.  False or NULL: there is none. */
bool result_line_find_number(const struct result_line *line, const char *key, uint64_t *number);
const char *result_line_find_text(const struct result_line *line, const char *key);
/* True if that member is the string `string`. */
bool result_line_has(const struct result_line *line, const char *key, const char *string);

/* FOLDER/FILE, the end of the path in that member; "" where there is none or it is longer. */
void result_line_find_saved(const struct result_line *line, const char *key, char *name,
                            size_t name_bytes);

/* Appends the line with its newline.  The members repro, certificate, kept and output name the same
 * FOLDER/FILE in directory.  Members among dropped (ends with NULL) are left out. */
void result_line_copy(const struct result_line *line, const char *directory,
                      const char *const *dropped, struct writing *to);

#endif
