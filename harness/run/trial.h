/* The end of a whole trial, and how it is taken from its run. */
#ifndef HARNESS_RUN_TRIAL_H
#define HARNESS_RUN_TRIAL_H

#include "harness/run/run.h"

/* The result of a whole trial. */
struct trial {
    struct verdict first; /* of its findings the gravest; NONE = there are none */
    struct run_totals totals;
    uint64_t digest;
    char why_not_modelled[RUN_REASON_BYTES]; /* who waited where, when totals.not_modelled is not 0
                                              */
    /* recorded; the caller deinits.  Where several lists were run (trial_take_findings), that of
     * `first` */
    struct op_list ops;
    /* those lists: lists[n - 1] shows each finding whose `list` is n; where that is 0, ops does */
    struct op_list lists[RUN_FINDING_COUNT_MAX];
    struct op_list searched; /* of which schedules were searched, without one; empty: none were */
    struct setup setup;
    struct run_findings findings; /* all of them */
};
void trial_deinit(struct trial *trial);

/* Collects what is to be known of the run once it is over, but for the gravest verdict; trial->ops
 * is initialised here. */
void trial_collect(struct trial *trial, const struct run *run);
/* Collects in the same way from a run that is to be destroyed: the run gives its list away.  If
 * that is one that was expected (run_expect), trial->ops stays empty. */
void trial_collect_last(struct trial *trial, struct run *run);
/* Collects in the same way without setup and ops: trial->ops is empty, trial->setup stays. */
void trial_collect_counts(struct trial *trial, const struct run *run);
/* Names the gravest of the findings, where nobody ended the run with a verdict of his own; else
 * that is among the findings from now on. */
void trial_name_first(struct trial *trial);
/* The list that shows the finding, one of the trial's. */
const struct op_list *trial_list(const struct trial *trial, const struct run_finding *finding);
/* Takes in what another trial found: of each signature the first.  Its list is taken with it.  Then
 * `first` and ops are to be set by trial_lead(). */
void trial_take_findings(struct trial *trial, const struct trial *from);
/* Makes the gravest finding `first`, and its list ops; without one both stay. */
void trial_lead(struct trial *trial);

/* True if a finding ended it, so that there was more to run. */
bool trial_is_ended(const struct trial *trial);

#endif
