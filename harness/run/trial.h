/* How a whole trial ended, and how that is taken from its run. */
#ifndef HARNESS_RUN_TRIAL_H
#define HARNESS_RUN_TRIAL_H

#include "harness/run/run.h"

/* How a whole trial ended. */
struct trial {
    struct verdict first; /* of its findings the gravest; NONE = there are none */
    struct run_totals totals;
    uint64_t digest;
    char why_not_modelled[RUN_REASON_BYTES]; /* who waited where, when totals.not_modelled is not 0
                                              */
    struct op_list ops;                      /* recorded; the caller deinits */
    struct setup setup;
    struct run_findings findings; /* all of them, on this list */
};
void trial_deinit(struct trial *trial);

/* What is to be known of the run once it is over, but for the gravest verdict; trial->ops is
 * initialised here. */
void trial_collect(struct trial *trial, const struct run *run);
/* The same without setup and ops: trial->ops is empty, trial->setup is not touched. */
void trial_collect_counts(struct trial *trial, const struct run *run);
/* Names the gravest of the findings, where nobody ended the run with a verdict of his own; else
 * that is among the findings from now on. */
void trial_name_first(struct trial *trial);
/* Whether a finding ended it, so that there was more to run. */
bool trial_is_ended(const struct trial *trial);

#endif
