/* Holds what was observed against what was promised, for a call that met no other one: takes the
 * device calls and the answer of one op into the model and names the first broken rule. */
#ifndef HARNESS_RULES_JUDGE_CALL_H
#define HARNESS_RULES_JUDGE_CALL_H

#include "harness/rules/judge_plain.h"

/* The rest of it, from where the short road ended.  Brings the models up to date, checks every
 * rule, judges an OOM; sets *judge->verdict. */
void judge_call(struct judge *judge, struct host *host, const struct call *call,
                enum judge_road road);
/* At the end of a run: looks at all blocks, if some were not looked at after the last moves. */
void judge_look_again(struct judge *judge, struct host *host);
/* After everything was freed, before close: one hole of the whole heap. */
void judge_empty_heap(struct judge *judge, struct host *host);
/* After close: the host memory of the target. */
void judge_closed(struct judge *judge, struct host *host);

/* Breaks RULE_REGRET for the regret of the last op, the count-th one. */
void judge_regret(struct judge *judge, uint64_t count);

#endif
