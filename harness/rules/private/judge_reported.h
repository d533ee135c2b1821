/* Asks the target about itself and holds that against the model. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_REPORTED_H
#define HARNESS_RULES_PRIVATE_JUDGE_REPORTED_H

#include "harness/rules/judge.h"

/* Each sets the first broken rule in *judge->verdict and returns false, or returns true. */

/* The counters equal the model's; with_holes: the largest hole, too, which costs a walk over the
 * blocks. */
bool judge_counters(struct judge *judge, const struct host *host, const struct target_stats *stats,
                    bool with_holes);
/* What every op is asked, and nearly always the answer: each counter is exact, which is right
 * whatever the contract says of it, unless late ones are followed.  Holes are not looked at. */
bool judge_counters_are_exact(const struct judge *judge, const struct host *host,
                              const struct target_stats *stats);
/* The allocations report names each block once, largest first, and no two things share a handle. */
bool judge_report(struct judge *judge, const struct host *host);

#endif
