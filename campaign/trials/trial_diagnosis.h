/* Explains why a trial whose list is saved ran out of memory: while it runs, so that nothing is run
 * twice; or, if nobody knew that it would be saved, by one more run of its list. */
#ifndef CAMPAIGN_TRIALS_TRIAL_DIAGNOSIS_H
#define CAMPAIGN_TRIALS_TRIAL_DIAGNOSIS_H

#include "campaign/trials/trial_result.h"
#include "harness/base/writing.h"
#include "harness/run/trial.h"
#include "present/report.h"

struct trial_diagnosis;

/* place outlives it. */
struct trial_diagnosis *trial_diagnosis_create(const struct report_place *place, uint64_t seed);
void trial_diagnosis_destroy(struct trial_diagnosis *trial_diagnosis); /* NULL: nothing */

/* To be called after each op, and after the last promises: takes in what the op did. */
void trial_diagnosis_step(struct trial_diagnosis *trial_diagnosis, const struct run *run);

/* To be called after that, if the op ran out of memory and its verdict is justified, premature or
 * unknown.  Appends a JSON line of type "diagnosis". */
void trial_diagnosis_explain(const struct trial_diagnosis *trial_diagnosis, const struct run *run,
                             const struct verdict *verdict, struct writing *lines);

/* Explains, of the saved OOMs of the trial that have no line, the first premature one of each
 * mechanism and the first TRIAL_RESULT_UNKNOWN_COUNT_MAX unknown ones of each part, among those
 * that this process explained and that count before it: the first of the whole campaign are among
 * these, whichever process runs their trials.  Nothing where lanes were tried.  Not for two threads
 * at once.  Cost: a run of the trial's list up to the last of them, if there is one. */
void trial_diagnosis_again(const struct plan *plan, const struct trial *trial,
                           struct trial_result *trial_result);

#endif
