/* One part of a plan while the plan is made: its setup and bounds, and whether its target takes
 * them. */
#ifndef CAMPAIGN_PLAN_PART_H
#define CAMPAIGN_PLAN_PART_H

#include "campaign/plan/plan.h"

/* What is run, and what the user says of it; trace NULL: the scenario alone. */
struct part_wish {
    const struct scenario *scenario;
    const struct trace *trace;
    const struct run_options *options;
    uint64_t seed;
};

/* Weights that a scenario would ignore are refused.  True: it accepts them, or none were given. */
bool part_check_weights(const struct scenario *scenario, const struct run_options *given,
                        char reason[RUN_REASON_BYTES]);
/* EXIT_KEPT, or another code after one message; without bounds in both cases. */
enum exit_code part_init(struct part *part, const char *name, const struct part_wish *wish);
void part_bound(struct part *part, const struct run_options *given);

/* Opens the target as the first trial will, and notes why the part is skipped, if it is. EXIT_KEPT,
 * or another code after one message. */
enum exit_code part_try_target(struct part *part, uint64_t duration_ns);

#endif
