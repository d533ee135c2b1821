/* Holds the answers of the hosts of an SPMD job against each other. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_SPMD_H
#define HARNESS_RULES_PRIVATE_JUDGE_SPMD_H

#include "harness/rules/judge.h"

/* Breaks RULE_SPMD when the call is of an OP_SPMD group and got another answer than a host of the
 * same round whose state was as good.  False: it did. */
bool judge_spmd(struct judge *judge, const struct host *host, const struct call *call);

#endif
