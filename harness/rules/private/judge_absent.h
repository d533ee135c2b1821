/* Whether blocks that are in host memory come back as soon as they can. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_ABSENT_H
#define HARNESS_RULES_PRIVATE_JUDGE_ABSENT_H

#include "harness/rules/judge.h"

/* Before the op is taken into the model: what is free, if a block is in host memory. */
void judge_note_holes(struct judge *judge, const struct host *host);
/* After it: no live block is still there that a range had room for before the op and has after it,
 * if the target was called and the device refused nothing.  False: one is; *judge->verdict has it.
 */
bool judge_absent(struct judge *judge, const struct host *host, const struct call *call);

#endif
