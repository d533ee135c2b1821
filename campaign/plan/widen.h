/* Widens a run for which nobody says what to look at: faults in every second trial, small devices
 * in some, and several client threads.  Job files say themselves what they look at. */
#ifndef CAMPAIGN_PLAN_WIDEN_H
#define CAMPAIGN_PLAN_WIDEN_H

#include "campaign/plan/plan.h"

enum {
    WIDEN_FAULT_PERIOD = 2,      /* trials 1, 3, 5, ... get faults */
    WIDEN_SMALL_PERIOD = 4,      /* trials 2, 6, 10, ... have a small device, if it is free */
    WIDEN_LANE_COUNT = 3,        /* clients */
    WIDEN_SCHEDULE_COUNT = 8,    /* of each list: more lists find more than more schedules do */
    WIDEN_LANES_STRIDE = 2,      /* a trial with lanes in every second round */
    WIDEN_HEAD_START_COUNT = 16, /* crowded trials that come before all others */
};

/* Text that says how to try lanes that no scheduler can run. */
extern const char widen_how_free[];
/* Begins why they ended: what the scheduler met follows. */
extern const char widen_not_modelled[];

/* Widens a plan that was made without a job file.  Given options stay: --faults gives every trial
 * its faults, --lanes N its lanes; "none" leaves them out.  With lanes each scenario gets a
 * second part, SCENARIO.lanes.  If the target cannot be run so, one skipped part, "lanes", says
 * why. */
void plan_widen(const struct run_options *options, struct plan *plan);

/* The canary of a campaign: one target with a planted defect that runs beside the jobs through the
 * same workers.  It must be reported: a campaign that does not see this one cannot be believed when
 * it sees nothing. */

/* The most trials of the canary: they are enough, as the defect shows in nearly each of them. */
enum { CANARY_TRIAL_COUNT_MAX = 64 };

/* Appends the canary to the plan, as its last part. */
void canary_add(struct plan *plan);

/* The canary of the plan; NULL: it has none. */
const struct part *canary_of(const struct plan *plan);

#endif
