/* What a request cost beyond what it had to. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_SPENDING_H
#define HARNESS_RULES_PRIVATE_JUDGE_SPENDING_H

#include "harness/rules/judge.h"

/* The first eviction or move of a request: what it spends is held against the cheapest plan from
 * here.  judge->before becomes the state, unless the model knows that no plan moves fewer bytes
 * than the calls of the op do; then judge->is_cheapest is set, and judge->is_granule_short says of
 * the state what a probe asks. */
void judge_begin_spending(struct judge *judge, const struct host *host, const struct call *call);
/* What the op regrets goes to judge->regret. */
void judge_look_back(struct judge *judge, const struct host *host, const struct call *call);

#endif
