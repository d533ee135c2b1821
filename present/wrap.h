/* Text for people in lines of a bounded width, broken between words. */
#ifndef PRESENT_WRAP_H
#define PRESENT_WRAP_H

#include "harness/base/writing.h"

/* Appends words, of which each blank parts two, without a line end.  The current line already has
 * indent columns, and each further one begins with that many blanks.  No line is longer than width
 * columns, except one that holds a single longer word. */
void wrap_append(struct writing *text, const char *words, size_t indent, size_t width);

#endif
