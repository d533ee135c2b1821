/* How a campaign stands, told while it runs: a table on a terminal that is drawn over itself, or a
 * line a minute where nobody looks at a screen.  It reads no clock and writes nothing itself: the
 * caller gives the time and writes the text, in one piece, so that no half-drawn table is ever
 * seen. */
#ifndef REPORTS_WATCH_H
#define REPORTS_WATCH_H

#include "harness/base/writing.h"
#include "reports/report.h"

enum {
    WATCH_WIDTH_DEFAULT = 80,
    WATCH_JOB_COUNT_MAX = 40, /* more jobs than that are one line together */
};

/* lines_drawn lines above the cursor are the table's; 0 = nothing is drawn, and always in a pipe.
 */
struct watch {
    bool is_terminal;
    bool has_colour;        /* only on a terminal */
    unsigned width;         /* columns of the terminal, > 0; may change between two drawings */
    unsigned job_count_max; /* jobs with a line of their own; lower it for a terminal of fewer than
                               job_count_max + 3 lines, since no cursor moves above the first */
    unsigned lines_drawn;
    uint64_t next_ns; /* when the next text is due */
};

/* A first text is due at once.  width 0: the terminal does not say, WATCH_WIDTH_DEFAULT. */
void watch_init(struct watch *watch, bool is_terminal, bool has_colour, unsigned width);

/* On a terminal every 250 ms, else once a minute.  now_ns is of a clock that never runs backwards.
 */
bool watch_is_due(const struct watch *watch, uint64_t now_ns);

/* Appends what is to be written now, due or not: the table over the one drawn before, or one line.
 * No line of the table is wider than the terminal; names are made visible and, where too long, cut.
 */
void watch_print(struct watch *watch, const struct report_campaign *campaign, uint64_t now_ns,
                 struct writing *text);

/* Appends what removes the table, so that other text can be written in its place.  The next one is
 * due at once. In a pipe nothing happens. */
void watch_clear(struct watch *watch, struct writing *text);

/* Whether colours are wanted: on a terminal, unless NO_COLOR (no_color) is set and not empty, or
 * the terminal (TERM, term) is unknown or dumb.  NULL = not set. */
bool watch_wants_colour(bool is_terminal, const char *no_color, const char *term);

#endif
