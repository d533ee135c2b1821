/* Which regions of the device the target holds, held against where the blocks lie. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_REGIONS_H
#define HARNESS_RULES_PRIVATE_JUDGE_REGIONS_H

#include "harness/rules/judge.h"

/* Each sets the first broken rule in *judge->verdict and returns false, or returns true; at once
 * where the contract does not grow. */

/* A region was given back in the call: nothing lay there but what the call ends. */
bool judge_region_given(struct judge *judge, const struct host *host, const struct call *call,
                        const struct device_call *given);
/* The model takes the regions that the device shows, and each block lies in one.  call: what it
 * ends is not asked about yet; NULL: all are.  O(blocks) after a change. */
bool judge_regions(struct judge *judge, struct host *host, const struct call *call);
/* The target is closed: it holds none. */
void judge_regions_closed(struct judge *judge, const struct host *host);

/* After oom_take() of a request that was refused: where a shared device has no room for the region
 * that it needs, also once all is done that the contract promises before, the device and *oom take
 * that for a region refused.  Nothing where the device is not shared, or nothing grows. */
void judge_pool(const struct host *host, struct oom *oom);

#endif
