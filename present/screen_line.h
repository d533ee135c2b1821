/* A line of a terminal that is cut where the terminal ends, with colours where they are wanted. */
#ifndef PRESENT_SCREEN_LINE_H
#define PRESENT_SCREEN_LINE_H

#include "harness/base/writing.h"

enum colour { COLOUR_NONE, COLOUR_RED, COLOUR_YELLOW, COLOUR_GREEN, COLOUR_DIM, COLOUR_COUNT };

/* columns_left of the line under way can still be written; the lines that ended took widths[0] to
 * widths[count - 1] columns. */
struct screen_line {
    struct writing *text;
    size_t width, columns_left;
    bool has_colour;
    uint16_t *widths; /* room for every line; NULL = nobody asks */
    size_t count;
};

/* width > 0 columns, of which one stays free: some terminals go to the next line as soon as the
 * last is written. */
void screen_line_begin(struct screen_line *line, size_t width);
/* At most width columns of string, which is visible (writing.h). */
void screen_line_append(struct screen_line *line, const char *string, size_t width,
                        enum colour colour);
void screen_line_append_spaces(struct screen_line *line, size_t count);
/* Removes what stood in the rest of the line before, and ends it. */
void screen_line_end(struct screen_line *line);

#endif
