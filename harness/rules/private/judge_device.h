/* What the device calls of one op did to the model, and whether they might: completions, evictions
 * and copies. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_DEVICE_H
#define HARNESS_RULES_PRIVATE_JUDGE_DEVICE_H

#include "harness/rules/judge.h"

/* Replays the log of the call in its order; *moved is set when blocks were moved.  False: a rule is
 * broken, and *judge->verdict has it. */
bool judge_device_calls(struct judge *judge, struct host *host, const struct call *call,
                        bool *moved);

#endif
