/* Why a trial whose list is saved ran out of memory: found while it runs, so that nothing is run
 * twice.  Where nobody knew that it would be saved: diagnosis_again.h. */
#ifndef CAMPAIGN_TRIALS_TRIAL_DIAGNOSIS_H
#define CAMPAIGN_TRIALS_TRIAL_DIAGNOSIS_H

#include "harness/base/writing.h"
#include "present/report.h"

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

#endif
