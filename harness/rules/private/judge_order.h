/* Whether the mitigations of a request come in the order that binds them. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_ORDER_H
#define HARNESS_RULES_PRIVATE_JUDGE_ORDER_H

#include "harness/rules/judge.h"

/* Of a call alone.  Each sets the broken rule in *judge->verdict and returns false, or returns
 * true. */

/* The made call was granted, and the model shows the moment before it; completed_after: completions
 * when it returned; has_moved: something was copied or staged before it. */
bool judge_order(struct judge *judge, const struct host *host, const struct call *call,
                 const struct device_call *made, uint64_t completed_after, bool has_moved);
/* An out-of-memory left no program that it had to evict. */
bool judge_last_eviction(struct judge *judge, const struct host *host, const struct call *call);

#endif
