/* The strategies there are, by name, and what some of them can tell of themselves.
 *
 * All of them take the device as one participant beside the lanes (explore/private/participants.h),
 * and let a time-out fire only when nothing else can happen; random and portfolio let one fire one
 * time in 16 besides.  The same seed and argument give the same decisions on the same choices.  Not
 * thread-safe: one state, one thread. */
#ifndef EXPLORE_STRATEGIES_STRATEGIES_H
#define EXPLORE_STRATEGIES_STRATEGIES_H

#include "explore/scheduler.h"
#include "explore/strategy.h"

/* Ends with NULL; the first is the one to take when nobody asks for another. */
extern const struct strategy_kind *const strategies[];
/* NULL: no strategy has that name. */
const struct strategy_kind *strategy_find(const char *name);

/* Each participant as likely at each decision.  Run r of a seed does not depend on other runs.  No
 * argument. */
extern const struct strategy_kind strategy_random;

/* Priorities with few changes.  Argument: depth, 1..STRATEGY_PCT_DEPTH_MAX, larger ones count as
 * that; 0 = 3. Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with
 * Probabilistic Guarantees of Finding Bugs, ASPLOS 2010. */
extern const struct strategy_kind strategy_pct;
enum { STRATEGY_PCT_DEPTH_MAX = 32 };
/* With this probability at least a run finds a defect that takes `depth` orderings, when it is no
 * longer than those that have ended: 1 / (n k^(depth-1)), the theorem of the paper. */
struct strategy_bound {
    uint64_t n, k; /* most participants, most decisions of any run that has ended */
    uint32_t depth;
    double probability;
};
/* False: no run has ended yet. */
bool strategy_pct_bound(const void *state, struct strategy_bound *bound);

/* decision_default(), but for a few decisions at which who would go on is passed over.  Argument:
 * delays of a run, 1..STRATEGY_DELAY_COUNT_MAX, larger ones count as that; 0 = 3. Emmi, Qadeer,
 * Rakamaric: Delay-Bounded Scheduling, POPL 2011. */
extern const struct strategy_kind strategy_delay;
enum { STRATEGY_DELAY_COUNT_MAX = 64 };

/* Another participant at each decision, in the order of numbers.  Neither seed nor argument. */
extern const struct strategy_kind strategy_round_robin;

/* Every interleaving, and few of them more than once.  Argument: most preemptions of a run; 0 = no
 * bound.  A preemption lets another go on than the lane that ran and could, or completes an event
 * while a lane can go on.  What it asks of the choices is said in
 * explore/strategies/strategy_exhaustive.c. */
extern const struct strategy_kind strategy_exhaustive;
struct exhaustive_count {
    uint64_t interleavings; /* runs that are not known to be equivalent to another one */
    uint64_t pruned;        /* runs that turned out to be */
    bool is_complete;       /* there are no others within the bound, and no run was cut */
    uint32_t bound;
};
void strategy_exhaustive_count(const void *state, struct exhaustive_count *count);
/* Returns true when the same decisions led to other choices than before: the code that runs is not
 * deterministic, and the search has ended. */
bool strategy_exhaustive_diverged(const void *state);

/* The default: deals run after run to the others, by a table of shares.  No argument. */
extern const struct strategy_kind strategy_portfolio;
/* Returns the strategy that decides in this run, and its argument; the same for all seeds.
 * argument: NULL when nobody asks. */
const struct strategy_kind *strategy_portfolio_dealt(uint64_t run, uint64_t *argument);

/* Repeats a schedule: its switches where they belong, decision_default() everywhere else. */

/* Neither seed nor argument; without strategy_replay_set() every decision is the default. */
extern const struct strategy_kind strategy_replay;

/* The schedule of the next runs; it is copied.  At a point the switches that name it are taken in
 * their order, one at each decision there: a completion leaves the lane at the point, and then the
 * next one is due.  Not during a run.
 *
 * A run that was recorded is repeated exactly when its defaults are recorded, too, where they came
 * before a switch at the same point. */
void strategy_replay_set(void *state, const struct schedule_switch *switches, size_t count);
/* Switches of the last run whose lane or event could not go on when they were due; they were left
 * out.  A switch whose point was never reached is not among them. */
uint64_t strategy_replay_dropped(const void *state);

#endif
