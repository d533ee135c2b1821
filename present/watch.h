/* How a campaign stands, told while it runs: a table on a terminal that is drawn over itself, or a
 * line a minute where nobody looks at a screen.  It reads no clock and writes nothing itself: the
 * caller gives the time and writes the text, in one piece, so that no half-drawn table is ever
 * seen. */
#ifndef PRESENT_WATCH_H
#define PRESENT_WATCH_H

#include "harness/base/writing.h"
#include "present/report.h"

enum {
    WATCH_WIDTH_DEFAULT = 80,
    WATCH_JOB_COUNT_MAX = 40,                       /* more jobs than that are one line together */
    WATCH_LINE_COUNT_MAX = WATCH_JOB_COUNT_MAX + 3, /* titles, jobs, those together, totals */
};

/* lines_drawn lines above the cursor are the table's; 0 = nothing is drawn, and always in a pipe.
 */
struct watch {
    bool is_terminal;       /* with a cursor that can be moved */
    bool has_colour;        /* only on a terminal */
    unsigned width;         /* columns of the terminal, > 0 */
    unsigned job_count_max; /* jobs with a line of their own, 1..WATCH_JOB_COUNT_MAX */
    unsigned lines_drawn;
    uint16_t line_widths[WATCH_LINE_COUNT_MAX]; /* columns of the lines drawn */
    uint64_t next_ns;                           /* when the next text is due */
};

/* A first text is due at once. */
void watch_init(struct watch *watch, bool is_terminal, bool has_colour);

/* How large the terminal is now, in columns and lines; 0: it does not say.  Without it
 * WATCH_WIDTH_DEFAULT columns, and lines for all.  The table never has more lines than the
 * terminal, since no cursor moves above the first.  After a change the next table is drawn over the
 * one before, whose lines a narrower terminal has wrapped. */
void watch_resize(struct watch *watch, unsigned width, unsigned height);

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

#endif
