/* What the terminal behind a descriptor can show, as it and the environment say at this moment. */
#ifndef PRESENT_SCREEN_H
#define PRESENT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* All false and 0: it is no terminal, or one whose cursor cannot be moved (TERM is dumb or not
 * set). */
struct screen {
    bool has_cursor;
    bool has_colour;
    unsigned width, height; /* columns and lines; 0 = nothing says */
};

/* width is COLUMNS where that is a number, but never more than the terminal has. */
struct screen screen_look(int file);

/* Whether the cursor can be moved: on a terminal, unless it (TERM, term) is unknown or dumb.  NULL
 * = not set. */
bool screen_wants_cursor(bool is_terminal, const char *term);

/* Whether colours are wanted: where the cursor can be moved, unless NO_COLOR (no_color) is set
 * and not empty. */
bool screen_wants_colour(bool is_terminal, const char *no_color, const char *term);

/* How many columns the text of a command may take: what the terminal at standard output has, at
 * least SCREEN_COLUMNS_MIN; SCREEN_COLUMNS where standard output is none, whatever COLUMNS is. */
enum { SCREEN_COLUMNS_MIN = 40, SCREEN_COLUMNS = 80 };
size_t screen_columns(void);
/* From now on screen_columns() answers so, until 0 is kept; also in the processes made from this
 * one: their standard output may be another file than the one that their text goes to in the end.
 */
void screen_keep_columns(size_t columns);

#endif
