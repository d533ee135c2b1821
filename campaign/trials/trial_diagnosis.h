/* Why a trial whose list is saved ran out of memory: found while it runs where its list is known to
 * be saved, else by one more run of the list. */
#ifndef CAMPAIGN_TRIALS_TRIAL_DIAGNOSIS_H
#define CAMPAIGN_TRIALS_TRIAL_DIAGNOSIS_H

#include "campaign/trials/trial_result.h"
#include "harness/base/writing.h"
#include "reports/report.h"

struct trial_diagnosis;

/* place outlives it. */
struct trial_diagnosis *trial_diagnosis_create(const struct report_place *place, uint64_t seed);
void trial_diagnosis_destroy(struct trial_diagnosis *trial_diagnosis); /* NULL: nothing */

/* After each op, and after the last promises: takes in what the op did. */
void trial_diagnosis_step(struct trial_diagnosis *trial_diagnosis, const struct run *run);

/* After that, if the op ran out of memory and its verdict is justified, premature or unknown:
 * appends a JSON line of type "diagnosis". */
void trial_diagnosis_explain(const struct trial_diagnosis *trial_diagnosis, const struct run *run,
                             const struct verdict *verdict, struct writing *lines);

/* After the trial, which is not deinitialised: runs its list again for its saved OOMs that are
 * premature or unknown and have no diagnosis.  Only for the first premature one of a mechanism, and
 * the first TRIAL_RESULT_UNKNOWN_COUNT_MAX unknown ones of a part, among those that this process
 * explained and that count before it: the first of the whole campaign is among these.  Not where
 * lanes were tried, and not for two threads at once. */
void trial_diagnosis_complete(const struct plan *plan, const struct report_place *place,
                              const struct trial *trial, struct trial_result *trial_result);

#endif
