/* What the terminal behind a descriptor can show, as it and the environment say at this moment. */
#ifndef PRESENT_SCREEN_H
#define PRESENT_SCREEN_H

#include <stdbool.h>

/* All false and 0: it is no terminal, or one whose cursor cannot be moved (TERM is dumb or not
 * set). */
struct screen {
    bool has_cursor;
    bool has_colour;
    unsigned width, height; /* columns and lines; 0 = nothing says */
};

/* width is COLUMNS where that is a number, but never more than the terminal has. */
struct screen screen_look(int file);

#endif
