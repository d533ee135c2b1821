/* The judgement on requests: an out-of-memory, and what a request cost beyond what it had to. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_OOM_H
#define HARNESS_RULES_PRIVATE_JUDGE_OOM_H

#include "harness/rules/judge.h"

/* Judges the out-of-memory and its error text into *judge->verdict; while a block is absent the
 * verdict stays NONE.  False: a promise is broken and the run ends, or our judges disagree. */
bool judge_no_memory(struct judge *judge, struct host *host, const struct call *call);
/* What the op regrets goes to judge->regret. */
void judge_look_back(struct judge *judge, const struct host *host, const struct call *call);

#endif
