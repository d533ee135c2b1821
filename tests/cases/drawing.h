/* Heaps as text: "heap m..hh" is a line of a case. */
#ifndef TESTS_CASES_DRAWING_H
#define TESTS_CASES_DRAWING_H

#include <stddef.h>

enum { DRAWING_LINE_COUNT_MAX = 256 };

/* Sets lines to the capacity and the ops that make such a heap, which the caller frees; returns how
 * many.  0: a letter stands for nothing, or there are too many. */
size_t drawing_lines(const char *drawing, char *lines[DRAWING_LINE_COUNT_MAX]);

#endif
