/* What an op cost, held against what the contract promises of it. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_COST_H
#define HARNESS_RULES_PRIVATE_JUDGE_COST_H

#include "harness/rules/judge.h"

/* Of a host that has_cost, right after a call alone: judge->cost is what it cost.  The target may
 * be asked about itself afterwards, and that is no part of it. */
void judge_note_cost(struct judge *judge, const struct host *host);
/* After the call was judged.  Adds it to what ops cost so far, unless a fault struck or it did what
 * nobody counts: sleep, wake, defragment.  Sets *judge->verdict where a promise is broken, unless
 * something graver is. */
void judge_op_cost(struct judge *judge, const struct host *host, const struct call *call);

#endif
