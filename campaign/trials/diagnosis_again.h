/* Why a trial ran out of memory, by one more run of its list: of OOMs that are told though nobody
 * knew that before the trial. */
#ifndef CAMPAIGN_TRIALS_DIAGNOSIS_AGAIN_H
#define CAMPAIGN_TRIALS_DIAGNOSIS_AGAIN_H

#include "campaign/plan/plan.h"
#include "campaign/trials/earlier_tasks.h"
#include "harness/base/writing.h"
#include "harness/run/trial.h"

/* One OOM of the trial; those whose verdict is neither premature nor unknown are passed over. */
struct undiagnosed {
    const struct verdict *verdict;
    uint64_t start, bytes; /* set: of its line in lines; 0 bytes = it has none */
};

/* Explains the first premature OOM of each mechanism and the first unknown_count_max unknown ones
 * of each part, among those that this process explained and that count before it: the first of the
 * whole campaign are among these, whichever process runs their trials.  Appends JSON lines of type
 * "diagnosis".  Nothing where lanes were tried.  At most 32 OOMs; not for two threads at once.
 * Cost: a run up to the last of them, if there is one. */
void diagnosis_again(const struct plan *plan, const struct task *task, const struct trial *trial,
                     uint64_t unknown_count_max, struct undiagnosed *ooms, size_t count,
                     struct writing *lines);

#endif
