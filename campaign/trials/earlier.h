/* Rebuilds the op lists that a worker's process ran before a trial, from plan and tasks.  A fresh
 * process runs them one after the other, as the worker did. */
#ifndef CAMPAIGN_TRIALS_EARLIER_H
#define CAMPAIGN_TRIALS_EARLIER_H

#include "campaign/plan/plan.h"
#include "campaign/process/attempt.h"
#include "campaign/trials/earlier_tasks.h"

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

#endif
