/* What the terminal behind a descriptor can show, as it and the environment say at this moment; how
 * many columns of it a text takes; a line that is cut where the terminal ends. */
#ifndef PRESENT_SCREEN_H
#define PRESENT_SCREEN_H

#include "harness/base/writing.h"

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

/* --- the columns of a text --- */

/* Most characters take one, combining marks none, Chinese, Japanese and Korean characters and most
 * pictures two.  The C library knows, by its locale C.UTF-8 whatever that of the process is; where
 * that is missing each character counts as one. */

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

/* --- a line, with colours where they are wanted --- */

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
