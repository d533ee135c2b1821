/* How a whole trial ended, and how that is taken from its run. */
#ifndef HARNESS_RUN_TRIAL_H
#define HARNESS_RUN_TRIAL_H

#include "harness/run/run.h"

/* How a whole trial ended. */
struct trial {
    struct verdict first; /* the first premature or broken verdict; else NONE */
    struct run_totals totals;
    uint64_t digest;
    struct op_list ops; /* recorded; the caller deinits */
    struct setup setup;
};
void trial_deinit(struct trial *trial);

/* What is to be known of the run once it is over, but for the first verdict; trial->ops is
 * initialised here. */
void trial_collect(struct trial *trial, const struct run *run);
/* The same without setup and ops: trial->ops is empty, trial->setup is not touched. */
void trial_collect_counts(struct trial *trial, const struct run *run);

#endif
