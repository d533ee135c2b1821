/* How many columns of a terminal a text takes: most characters one, combining marks none, Chinese,
 * Japanese and Korean characters and most pictures two.  The C library knows, by its locale C.UTF-8
 * whatever that of the process is; where that is missing each character counts as one. */
#ifndef PRESENT_TEXT_WIDTH_H
#define PRESENT_TEXT_WIDTH_H

#include "harness/base/writing.h"

#include <stddef.h>

/* The columns of the character that string begins with: 0..2; *length: its bytes.  string is not
 * empty and visible (writing.h). */
size_t text_character_width(const char *string, size_t *length);
/* The columns of all of it. */
size_t text_width(const char *string);
/* Those of its first length bytes, which are whole characters. */
size_t text_width_of(const char *string, size_t length);

/* Appends at most width columns of string: all of it, or its beginning and its end around "..",
 * because names that begin alike differ in the end. */
void text_append_shortened(struct writing *text, const char *string, size_t width);

#endif
