/* Chooses which trial is run next, and the order in which results count.  Trials go round robin
 * over the parts of the plan, parts with long trials in fewer rounds.  Results are taken in that
 * order whichever finishes first, so that a run reports the same with any number of workers. */
#ifndef CAMPAIGN_TRIALS_TRIALS_H
#define CAMPAIGN_TRIALS_TRIALS_H

#include "campaign/plan/plan.h"
#include "campaign/trials/trial_result.h"

struct trials;

/* window: how many trials may be ahead of the next one that counts. */
struct trials *trials_create(const struct plan *plan, uint64_t replay_sample, uint64_t window);
void trials_destroy(struct trials *trials);
/* True if what was started and taken adds up over the parts, and what waits is between the two. */
bool trials_invariants_hold(const struct trials *trials);

/* The next task that can be run now: its bound on ops is known for certain.  False: none, for now
 * or for good. */
bool trials_next(struct trials *trials, struct task *task);

/* Takes over the trial result of a task. */
void trials_put(struct trials *trials, struct trial_result *trial_result);

/* Moves the next trial result in order to *trial_result (not initialised; the caller deinits it)
 * and counts it against the bounds of its part.  False: it is not there yet, or all are taken. */
bool trials_take(struct trials *trials, struct trial_result *trial_result);

/* Gives no more tasks: what was started counts, up to the first in order that was not. */
void trials_stop(struct trials *trials);
/* Like trials_stop(), for one part. */
void trials_finish(struct trials *trials, size_t part);

/* The state from which another process can go on with a campaign, after the trials that count so
 * far. */
struct trials_progress {
    uint64_t taken, op_count, elapsed_ns;
    bool is_finished;
};
struct trials_mark {
    uint64_t round, part, taken;
};
/* The progress of each part of the plan lies stride bytes behind that of the one before. */
struct trials_mark trials_save(const struct trials *trials, struct trials_progress *first,
                               size_t stride);
/* True if trials of that plan can have come there: a file may say anything. */
bool trials_can_restore(const struct plan *plan, const struct trials_mark *mark,
                        const struct trials_progress *first, size_t stride);
/* trials is as created, and trials_can_restore. */
void trials_restore(struct trials *trials, const struct trials_mark *mark,
                    const struct trials_progress *first, size_t stride);

/* The rounds of a plan: to which of them each trial belongs, and in which order the parts take
 * their turns. */

/* The parts in the order of a round: the canary, which is the last part, comes first, so that the
 * time is not over before it was seen. */
size_t rounds_first_part(const struct plan *plan);
size_t rounds_next_part(const struct plan *plan, size_t part);
/* Returns the part's place in a round. */
size_t rounds_turn(const struct plan *plan, size_t part);

/* The most ops that a trial of the part has. */
uint64_t rounds_op_count(const struct part *part);
/* A scenario with long trials runs them more rarely, so that every scenario gets about as many ops.
 */
uint64_t rounds_stride(const struct part *part);

/* Most findings show in the first rounds.  Very long trials wait for this many of them, lanes
 * included. */
enum { ROUNDS_LONG_WAIT = 64 };

/* The round to which the i-th trial here of that part belongs; those of its head start to the
 * first. */
uint64_t rounds_of(const struct plan *plan, size_t index, uint64_t i);

/* True if the results of one trial count before those of another. */
bool rounds_count_before(const struct plan *plan, const struct task *a, const struct task *b);

/* Processes that run trials.  Each has one trial at a time; a target that kills or blocks its
 * worker costs that trial alone, and the worker is replaced. */

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
