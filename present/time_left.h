/* How long a campaign and each of its jobs still take, as far as anything says. */
#ifndef PRESENT_TIME_LEFT_H
#define PRESENT_TIME_LEFT_H

#include "present/report.h"

/* Nanoseconds; UINT64_MAX = nothing says.  A finished job: 0.  A bounded one: as long as the
 * campaign has taken for what is done of it, since jobs take turns, but never longer than the
 * campaign has. */
uint64_t time_left_of_job(const struct report_campaign *campaign,
                          const struct report_result *result);
/* What is left of the campaign's own bound; without one, what its longest job still takes. */
uint64_t time_left_of_campaign(const struct report_campaign *campaign);

#endif
