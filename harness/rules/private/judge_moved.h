/* Where blocks are after an op, and whether each change of place was one that may be. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_MOVED_H
#define HARNESS_RULES_PRIVATE_JUDGE_MOVED_H

#include "harness/rules/judge.h"

/* Each sets the first broken rule in *judge->verdict and returns false, or returns true. */

/* Asks where all blocks are now and checks each change of place; moved: blocks were copied. */
bool judge_places(struct judge *judge, struct host *host, const struct call *call, bool moved);
/* Nothing was moved since the last op, and the block is where it was, with its contents. */
bool judge_touched(struct judge *judge, const struct host *host, const struct call *call);

#endif
