/* What every device call of the log is judged by, be it of a call alone or of one of several. */
#ifndef HARNESS_RULES_PRIVATE_JUDGE_LOG_H
#define HARNESS_RULES_PRIVATE_JUDGE_LOG_H

#include "harness/rules/judge.h"
#include "harness/rules/private/evidence.h"
#include "harness/rules/private/overlap_stages.h"

/* Slot of the program that the unload names; SLOT_NONE: no op made one of that number. */
uint32_t judge_unloaded_slot(const struct host *host, const struct device_call *unload);
/* Whether the contract lets the op evict programs. */
bool judge_may_evict(const struct host *host, const struct op *op);
/* Whether the block in the slot is an idle program, other than that of the call. */
bool judge_is_evictable(const struct call *call, uint32_t slot, const struct block *block);

/* Each sets the first broken rule in *judge->verdict and returns false, or returns true. */

/* The program that is unloaded may be evicted; may_evict: a call for which is under way. */
bool judge_eviction(struct judge *judge, const struct host *host, const struct device_call *unload,
                    bool may_evict);
/* Nothing lies where copy->made writes that is still needed.  stages: of calls that overlap; NULL:
 * every block has its place. */
bool judge_written(const struct evidence *copy, const struct overlap_stages *stages);
/* Bounds that no single device call breaks. */
bool judge_bounds(struct judge *judge, const struct host *host);

#endif
