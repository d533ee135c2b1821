/* Whether a request waits in vain for a collective although it fits without that wait. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_HELD_BACK_H
#define HARNESS_RULES_PRIVATE_JUDGE_HELD_BACK_H

#include "harness/rules/judge.h"

/* Of a call alone.  The made call was granted, and the model shows the moment before it; has_moved:
 * something was copied or staged before it.  Sets the broken rule in *judge->verdict and returns
 * false, or returns true. */
bool judge_held_back(struct judge *judge, const struct host *host, const struct call *call,
                     const struct device_call *made, bool has_moved);

#endif
