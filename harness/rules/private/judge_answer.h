/* What the answer of a call does to the model, and whether it is one that the request can get; for
 * a call alone and for each of several that overlap. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_ANSWER_H
#define HARNESS_RULES_PRIVATE_JUDGE_ANSWER_H

#include "harness/rules/judge.h"

/* Takes an answer OK into the model that ended a block, or a hold of one: that breaks no rule. */
void judge_take_end(struct host *host, const struct call *call);

/* Each sets the first broken rule in *judge->verdict and returns false, or returns true. */

/* Takes an answer OK into the model. */
bool judge_take_success(struct judge *judge, struct host *host, const struct call *call);
/* The result is one that the request can get, and an answer FAILED says why. */
bool judge_status(struct judge *judge, const struct host *host, const struct call *call);

#endif
