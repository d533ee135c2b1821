/* Text for people in lines of a bounded width, broken between words. */
#ifndef PRESENT_WRAP_H
#define PRESENT_WRAP_H

#include "harness/base/writing.h"

/* Appends words, of which each blank parts two, without a line end.  The current line already has
 * indent columns, and each further one begins with that many blanks.  No line is longer than width
 * columns, except one that holds a single longer word. */
void wrap_append(struct writing *text, const char *words, size_t indent, size_t width);

/* Breaks the lines of text from its byte begin on that the screen has no room for.  What follows a
 * break stands two columns further to the right than its line.  No line to copy belongs there. */
void wrap_since(struct writing *text, size_t begin);
/* The same; the first line is not broken before the byte `whole`: a path or a signature ends there.
 */
void wrap_after(struct writing *text, size_t begin, size_t whole);
/* The same of lines of several forms: what follows a break stands below the second column of a line
 * that has columns.  An op and a line with a command to copy stay whole. */
void wrap_answer(struct writing *text, size_t begin);
/* Appends paragraphs, parted by empty lines, as lines that the screen has room for.  A line end
 * within a paragraph is a blank, unless the next line begins with one. */
void wrap_paragraphs(struct writing *text, const char *words);

/* Appends string, foreign text made visible, after a blank where the screen has room for it, and
 * otherwise on a line of its own.  begin: the byte where its line begins. */
void wrap_whole(struct writing *text, size_t begin, const char *string);

#endif
