/* Where the blocks are that the device calls of an op met, without a look at the others. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_MOVES_H
#define HARNESS_RULES_PRIVATE_JUDGE_MOVES_H

#include "harness/rules/judge.h"

/* After a granted request that copied or staged.  True: those blocks are where they may be, with
 * their contents, and model and device say so, as after judge_places() and judge_contents().
 * False: nothing changed, and all blocks are to be looked at: there is something else to judge, or
 * something may be wrong, or they are few, or as many were looked at since all were.  So what a
 * target says of a block that no call met is asked at the latest when as many were moved as there
 * are, or when the run ends (judge_look_again).
 * O(met log blocks). */
bool judge_moves(struct judge *judge, struct host *host, const struct call *call);

#endif
