/* The short road of the calls that nearly all are: a buffer is allocated or freed, and nothing else
 * happens. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_PLAIN_H
#define HARNESS_RULES_PRIVATE_JUDGE_PLAIN_H

#include "harness/rules/judge.h"

/* Of a call that is plain.  True: every rule on the answer is kept, and the model has taken it in.
 * False: something else happened, or a rule may be broken; nothing was changed, and the long road
 * (judge_call.c) tells. */
bool judge_plain(struct judge *judge, struct host *host, const struct call *call);

/* The same for what the target says of itself after it: all is as it should be. */
bool judge_plain_stats(const struct judge *judge, const struct host *host,
                       const struct target_stats *stats);

#endif
