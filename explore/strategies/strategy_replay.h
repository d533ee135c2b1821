/* Repeats a schedule: its switches where they belong, decision_default() everywhere else. */
#ifndef EXPLORE_STRATEGIES_STRATEGY_REPLAY_H
#define EXPLORE_STRATEGIES_STRATEGY_REPLAY_H

#include "explore/scheduler.h"

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
