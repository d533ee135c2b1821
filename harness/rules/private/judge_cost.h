/* What an op cost, held against what the contract promises of it. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_COST_H
#define HARNESS_RULES_PRIVATE_JUDGE_COST_H

#include "harness/rules/judge.h"

/* Right after a call alone: judge->cost is what it cost.  The target may be asked about itself
 * afterwards, and that is no part of it. */
void judge_note_cost(struct judge *judge, const struct host *host, const struct call *call);
/* The same of a plain call (judge_plain.h), which is counted: judge->cost.calls is set. */
void judge_take_plain_cost(struct judge *judge, const struct call *call);
/* After the call was judged.  Says whether its cost is counted: not where a fault struck, and not
 * what nobody counts: sleep, wake, defragment.  Of a host that has_cost it is added to what ops
 * cost so far; sets *judge->verdict where a promise is broken, unless something graver is. */
void judge_op_cost(struct judge *judge, const struct host *host, const struct call *call);

#endif
