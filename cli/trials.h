/* Which trial is run next, and in which order the results count.  Trials go round robin over the
 * parts of the plan, parts with long trials in fewer rounds.  Results are taken in that order whoever
 * finishes first, so that a run says the same with any number of workers. */
#ifndef CLI_TRIALS_H
#define CLI_TRIALS_H

#include "cli/judgement.h"

struct trials;

/* window: how many trials may be ahead of the next one that counts. */
struct trials *trials_create(const struct plan *plan, uint64_t replay_sample, uint64_t window);
void trials_destroy(struct trials *trials);

/* The next task that can be run now: its bound on ops is known for certain.  False: none, for now or
 * for good. */
bool trials_next(struct trials *trials, struct task *task);

/* Takes over the judgement of a task. */
void trials_put(struct trials *trials, struct judgement *judgement);

/* Moves the next judgement in order to *judgement (not initialised; the caller deinits it) and
 * counts it against the bounds of its part.  False: it is not there yet, or all are taken. */
bool trials_take(struct trials *trials, struct judgement *judgement);

/* No more tasks: what was started still counts. */
void trials_stop(struct trials *trials);

#endif
