/* The exit codes of the program, and the exit code that the totals of a run lead to. */
#ifndef CAMPAIGN_BASE_EXIT_CODE_H
#define CAMPAIGN_BASE_EXIT_CODE_H

#include "present/report.h"

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

/* The graver of two: a broken promise counts before what is not known. */
enum exit_code exit_code_worse(enum exit_code a, enum exit_code b);

#endif
