/* Holds what a target says about itself against the model.  Only judge.c and its parts include it.
 */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_REPORTED_H
#define HARNESS_RULES_PRIVATE_JUDGE_REPORTED_H

#include "harness/rules/judge.h"

/* Each sets the first broken rule in *judge->verdict and returns false, or returns true. */

/* The counters equal the model's; with_holes: the largest hole, too, which costs a walk over the
 * blocks. */
bool judge_counters(struct judge *judge, const struct host *host, const struct target_stats *stats,
                    bool with_holes);
/* The allocations report names each block once, largest first. */
bool judge_report(struct judge *judge, const struct host *host);
/* No two things share a handle.  Sorts them: once per report, because per op it would cost a set.
 */
bool judge_handles(struct judge *judge, const struct host *host);
/* An answer FAILED says why, unless there was no host memory to say it with. */
bool judge_failure_message(struct judge *judge, const struct host *host);
/* The error text of the out-of-memory judge->oom follows the grammar, and its numbers are the
 * model's. */
bool judge_message(struct judge *judge, const struct host *host, const struct call *call);

#endif
