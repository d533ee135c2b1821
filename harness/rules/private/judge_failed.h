/* Whether a call that failed left all that can be seen of the target as it was.  Where blocks are
 * and how large they are is looked at with all places (judge_moved.h), numbers with all counters
 * (judge_reported.h). */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_FAILED_H
#define HARNESS_RULES_PRIVATE_JUDGE_FAILED_H

#include "harness/rules/judge.h"

/* Whether the call, which failed, may have moved, evicted and awaited before that.  An answer that
 * is wrong by itself says nothing of what was needed, and any call may bring blocks back from host
 * memory. */
bool judge_may_mitigate(const struct judge *judge, const struct call *call);

/* A call that failed and may not mitigate did not; it left no stage in host memory but those of
 * blocks that are there alone; no evicted program has an image; and, of a call alone, the report
 * lists nothing of what it was asked for.  The last two are O(blocks): of out-of-memories one in
 * eight is looked at so, which depends on the number of the op.  False: the rule is broken, and
 * *judge->verdict says how. */
bool judge_failed(struct judge *judge, const struct host *host, const struct call *call);

#endif
