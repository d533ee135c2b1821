/* JSON, member by member, at the end of a text.  A comma is put where one is needed.  Keys and
 * strings are any text of the caller's and are escaped (RFC 8259, section 7); key NULL stands for
 * an element of an array. */
#ifndef HARNESS_BASE_JSON_H
#define HARNESS_BASE_JSON_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stdint.h>

/* One object a line: {"type":"start" ... } and the line end. */
void json_open(struct writing *text, const char *type);
void json_close(struct writing *text);

void json_add_string(struct writing *text, const char *key, const char *value);
void json_add_number(struct writing *text, const char *key, uint64_t value);
/* The decimal digits as a string: for seeds and digests, which are names of 64 bits.  Readers that
 * keep numbers as doubles would make others of them above 2^53. */
void json_add_digits(struct writing *text, const char *key, uint64_t value);
/* -1, where a number has no value. */
void json_add_no_number(struct writing *text, const char *key);
void json_add_null(struct writing *text, const char *key);
void json_add_boolean(struct writing *text, const char *key, bool value);
/* part of whole as a number from 0 to 1 with six digits, rounded down; 0 when whole is 0.  part is
 * at most whole. */
void json_add_fraction(struct writing *text, const char *key, uint64_t part, uint64_t whole);
void json_add_seconds(struct writing *text, const char *key, uint64_t duration_ns);
void json_add_microseconds(struct writing *text, const char *key, uint64_t time_ns); /* "1.025" */
void json_nest(struct writing *text, const char *key, char bracket); /* '{' or '[' */
void json_unnest(struct writing *text, char bracket);                /* '}' or ']' */

/* Goes on in a new line, indent blanks from its start; a member must follow.  For documents that
 * people read, too. */
void json_break(struct writing *text, unsigned indent);

#endif
