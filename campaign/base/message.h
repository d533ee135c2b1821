/* The messages of the program when it cannot do what was asked: one line each on standard error,
 * with control characters escaped.  Also finds the valid name nearest to a wrong one. */
#ifndef CAMPAIGN_BASE_MESSAGE_H
#define CAMPAIGN_BASE_MESSAGE_H

#include "harness/base/writing.h"
#include "present/report.h"

#include <stddef.h>

/* The exit codes of the program, and the exit code that the totals of a run lead to. */

/* The exit codes; fixed for ever. */
enum exit_code {
    EXIT_KEPT = 0,   /* every promise kept, every OOM judged that is not excused or allowed */
    EXIT_BROKEN = 1, /* a promise was broken */
    EXIT_USAGE = 2,  /* bad usage or bad input: nothing was run */
    /* no promise broken, but more OOMs stayed unknown, or verdicts unrepeated, than allowed, or a
     * trial was not modelled */
    EXIT_UNKNOWN = 3,
    EXIT_HARNESS = 4 /* the harness itself failed: no disk, a worker that died of our own fault */
};

/* Return the exit code of totals: when nothing may stay unknown, and within what is allowed. */
enum exit_code totals_exit_code(const struct run_totals *totals);
enum exit_code totals_exit_code_within(const struct run_totals *totals,
                                       const struct report_allowed *allowed);

/* Prints "hbmstress: ..." and the line end; control characters are escaped.  Returns code. */
enum exit_code message_fail(enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Like message_fail(), for a problem in spite of which the program goes on. */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "unknown KIND 'NAME'; did you mean 'NEAR'?", or with near NULL "unknown KIND 'NAME'; HINT".
 * Returns EXIT_USAGE. */
enum exit_code message_unknown(const char *kind, const char *name, const char *near,
                               const char *hint);

/* The name of names[count] with the fewest edits to name, at most a third of its length plus one;
 * NULL when none is so near.  The first of equals wins. */
const char *message_nearest(const char *name, const char *const *names, size_t count);

/* Lines of somebody else's, each as "WHO: LINE"; control characters are shown as they are in
 * messages. */
void message_quote(const char *who, const struct writing *text);

/* The graver of two: a broken promise counts before what is not known. */
enum exit_code exit_code_worse(enum exit_code a, enum exit_code b);

#endif
