/* The rounds of a plan: to which of them each trial belongs, and in which order the parts take
 * their turns. */
#ifndef CAMPAIGN_TRIALS_ROUNDS_H
#define CAMPAIGN_TRIALS_ROUNDS_H

#include "campaign/plan/plan.h"
#include "campaign/trials/earlier_tasks.h"

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

#endif
