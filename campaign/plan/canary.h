/* The canary of a campaign: one target with a planted defect that runs beside the jobs through the
 * same workers.  It must be reported: a campaign that does not see this one cannot be believed when
 * it sees nothing. */
#ifndef CAMPAIGN_PLAN_CANARY_H
#define CAMPAIGN_PLAN_CANARY_H

#include "campaign/plan/plan.h"

/* The most trials of the canary: they are enough, as the defect shows in nearly each of them. */
enum { CANARY_TRIAL_COUNT_MAX = 64 };

/* Appends the canary to the plan, as its last part. */
void canary_add(struct plan *plan);

/* The canary of the plan; NULL: it has none. */
const struct part *canary_of(const struct plan *plan);

#endif
