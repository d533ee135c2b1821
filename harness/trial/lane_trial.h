/* Whole trials with several client threads. */
#ifndef HARNESS_TRIAL_LANE_TRIAL_H
#define HARNESS_TRIAL_LANE_TRIAL_H

#include "harness/lanes/lanes_search.h"
#include "harness/run/trial.h"
#include "harness/trial/trial_run.h"

/* A trial with lanes: the ops are drawn by plan as for one client, with lanes alone in a run of its
 * own, and dealt; then schedules of that list are searched.  What the drawing found is the trial's,
 * too, on the list before it was dealt; harm ends the trial there. */
struct lane_trial_plan {
    struct trial_plan draw;
    uint8_t lane_count; /* 2..LANES_CLIENT_COUNT_MAX */
    struct lanes_search search;
};
bool lane_trial_run(const struct lane_trial_plan *plan, const struct run_listener *listener,
                    struct trial *trial, struct lanes_found *found, char reason[RUN_REASON_BYTES]);

#endif
