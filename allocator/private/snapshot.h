/* The blocks of a device as items of a plan. */
#ifndef ALLOCATOR_PRIVATE_SNAPSHOT_H
#define ALLOCATOR_PRIVATE_SNAPSHOT_H

#include "allocator/private/call.h"

/* Fills a plan with the blocks as they are; leaves out what could be evicted on behalf of
 * `evicting` (NULL: nothing).  The items are freed with hbm_snapshot_free.  False: no host memory.
 */
bool hbm_snapshot(struct hbm *hbm, const struct hbm_call *evicting, struct hbm_plan *plan);
void hbm_snapshot_free(struct hbm *hbm, struct hbm_plan *plan);

#endif
