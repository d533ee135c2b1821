/* The rules about the target's memory on the host: where it writes, and how much it holds. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_HOST_H
#define HARNESS_RULES_PRIVATE_JUDGE_HOST_H

#include "harness/rules/judge.h"

/* After each call.  False: a rule is broken. */
bool judge_host_memory(struct judge *judge, struct host *host);
/* After close: everything is given back. */
void judge_host_closed(struct judge *judge, struct host *host);

#endif
