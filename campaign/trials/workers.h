/* Processes that run trials.  Each has one trial at a time; a target that kills or blocks its
 * worker costs that trial alone, and the worker is replaced. */
#ifndef CAMPAIGN_TRIALS_WORKERS_H
#define CAMPAIGN_TRIALS_WORKERS_H

#include "campaign/trials/trial_result.h"

struct workers;

/* Returns as many as were asked for, or one per processor. */
uint32_t workers_wanted(const struct run_options *options);

/* Forks count workers that know the plan, which must outlive them.  timeout_ns: how long one trial
 * may take.  NULL: cannot obtain a process, a pipe or memory; errno says why. */
struct workers *workers_create(const struct plan *plan, uint32_t count, uint64_t timeout_ns);
/* Ends them, in the middle of a trial too. */
void workers_destroy(struct workers *workers);

bool workers_have_idle(const struct workers *workers);
bool workers_have_busy(const struct workers *workers);

/* Gives the task to an idle worker.  False: one that died could not be replaced; errno says why. */
bool workers_start(struct workers *workers, const struct task *task);

enum workers_result {
    WORKERS_NOTHING, /* nobody was ready in time */
    WORKERS_READY,   /* *trial_result is one trial's */
    WORKERS_FAILED   /* a worker sent what cannot be, by a fault of ours */
};
/* Waits at most wait_ms for one trial to end; trial_result is initialised by the caller. */
enum workers_result workers_take(struct workers *workers, int wait_ms,
                                 struct trial_result *trial_result);

/* Ends one whose target has not returned from the same call for call_ns_min of wall time, as far as
 * workers_take saw; its trial hung.  False: there is none. */
bool workers_take_stuck(struct workers *workers, uint64_t call_ns_min,
                        struct trial_result *trial_result);

#endif
