/* Rebuilds the op lists that a worker's process ran before a trial, from plan and tasks.  A fresh
 * process runs them one after the other, as the worker did. */
#ifndef CAMPAIGN_TRIALS_EARLIER_H
#define CAMPAIGN_TRIALS_EARLIER_H

#include "campaign/plan/plan.h"
#include "campaign/process/attempt.h"
#include "campaign/trials/trial_result.h"

/* The most lists that are known; if there were more runs, these are the last ones. */
enum { EARLIER_LIST_COUNT_MAX = 4096 };

/* lists: count of them, one for each run of a trial's list: a trial that was run again, or under
 * several schedules, is there as often.  They point into `owned`. */
struct earlier {
    const struct earlier_list **lists;
    size_t count;
    struct earlier_list *owned; /* owned_count of them */
    size_t owned_count;
};
void earlier_deinit(struct earlier *earlier);

/* The last of the tasks that the worker ran in max_ns of wall time, in a process that gets as much
 * again.  False: they did not end, or no process could be had; *earlier is empty then. */
bool earlier_collect(const struct plan *plan, const struct earlier_tasks *tasks, uint64_t max_ns,
                     struct earlier *earlier);

/* Finds out whether a finding shows again: its list alone in a fresh process, or only behind the
 * trials that its worker's process ran before. */

enum repeated_end {
    REPEATED_ALONE,
    REPEATED_AFTER,  /* only behind earlier trials: `earlier` has the fewest that were found */
    REPEATED_NOT,    /* it did not show again */
    REPEATED_UNTOLD, /* interrupted, or no process could be had */
};
struct repeated {
    enum repeated_end end;
    struct earlier earlier;
    uint64_t op_count; /* of the list, up to the op that broke behind the earlier ones */
};
void repeated_deinit(struct repeated *repeated);

/* The finding of the trial that is selected, with ops as its list, which alone is run three times
 * at most. */
enum repeated_end repeated_alone(const struct plan *plan, const struct trial_result *trial_result,
                                 const struct op_list *ops);

/* The same.  Then the earlier trials are regenerated, the last ones first are tried before the
 * list, and fewer of them, or their first ops alone, as long as it still shows: at most 400 tries,
 * and 30 s of wall time after the 20 s that the trials may have taken. */
void repeated_find(const struct plan *plan, const struct trial_result *trial_result,
                   const struct op_list *ops, struct repeated *repeated);

#endif
