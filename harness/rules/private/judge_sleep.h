/* A target that sleeps and wakes: what it has of the device meanwhile, and what it leaves. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_SLEEP_H
#define HARNESS_RULES_PRIVATE_JUDGE_SLEEP_H

#include "harness/rules/judge.h"

/* OP_SLEEP or OP_WAKE. */
bool judge_is_sleep(const struct op *op);

/* After any call: takes a sleep or a wake that was OK into the model, and looks at how much memory
 * the target has.  False: a promise is broken. */
bool judge_take_sleep(struct judge *judge, struct host *host, const struct call *call);

/* After a sleep or a wake that leaves the target awake, once its places are known: what its blocks
 * hold, and what is left of the sleep in host memory. */
bool judge_after_sleep(struct judge *judge, struct host *host, const struct call *call);

#endif
