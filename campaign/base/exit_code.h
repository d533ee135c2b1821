/* How the program ends, and what a run that was counted ends with. */
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

/* How it ended, as an exit code: where nothing is allowed to stay unknown, and else. */
enum exit_code totals_exit_code(const struct run_totals *totals);
enum exit_code totals_exit_code_within(const struct run_totals *totals,
                                       const struct report_allowed *allowed);

#endif
