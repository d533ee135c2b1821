/* How the program ends, and what a run that was counted ends with. */
#ifndef CAMPAIGN_BASE_EXIT_CODE_H
#define CAMPAIGN_BASE_EXIT_CODE_H

#include "harness/run/totals.h"

/* The exit codes; fixed for ever. */
enum exit_code {
    EXIT_KEPT = 0,   /* every promise kept, every OOM judged */
    EXIT_BROKEN = 1, /* a promise was broken */
    EXIT_USAGE = 2,  /* bad usage or bad input: nothing was run */
    EXIT_UNKNOWN =
        3,           /* no promise broken, but an OOM stayed unknown, or a trial was not modelled */
    EXIT_HARNESS = 4 /* the harness itself failed: no disk, a worker that died of our own fault */
};

/* How it ended, as an exit code. */
enum exit_code totals_exit_code(const struct run_totals *totals);

#endif
