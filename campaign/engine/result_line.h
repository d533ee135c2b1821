/* A line of results.jsonl as text: its members are found and copied without being read as values,
 * so that a number comes out with the digits that it had. */
#ifndef CAMPAIGN_ENGINE_RESULT_LINE_H
#define CAMPAIGN_ENGINE_RESULT_LINE_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* length bytes without the newline; they belong to somebody else. */
struct result_line {
    const char *text;
    size_t length;
};

/* Whether it is one object, as our own lines are: "key":value pairs without white space. */
bool result_line_is_object(const struct result_line *line);

/* *value: the text of that member as it stands, quotes included.  False: there is none. */
bool result_line_find(const struct result_line *line, const char *key, struct result_line *value);
/* The same of a number below 2^63. */
bool result_line_find_number(const struct result_line *line, const char *key, uint64_t *number);
/* Whether that member is the string `string`. */
bool result_line_has(const struct result_line *line, const char *key, const char *string);

/* FOLDER/FILE, the end of the path in that member; "" where there is none or it is longer. */
void result_line_find_saved(const struct result_line *line, const char *key, char *name,
                            size_t name_bytes);

/* Appends the line with its newline.  The members repro, certificate, kept and output name the same
 * FOLDER/FILE in directory.  Members among dropped (ends with NULL) are left out. */
void result_line_copy(const struct result_line *line, const char *directory,
                      const char *const *dropped, struct writing *to);

#endif
