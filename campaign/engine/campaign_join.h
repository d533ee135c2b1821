/* What several shards of one campaign counted and found, as the whole would have: numbers and
 * findings, no files. */
#ifndef CAMPAIGN_ENGINE_CAMPAIGN_JOIN_H
#define CAMPAIGN_ENGINE_CAMPAIGN_JOIN_H

#include "campaign/engine/checkpoint.h"

/* Makes *whole ready for shards of that many parts: nothing is counted yet, and all are finished.
 */
void campaign_join_begin(struct checkpoint *whole, size_t part_count);
/* Adds a shard. */
void campaign_join_add(struct checkpoint *whole, struct checkpoint *shard, size_t part_count);

#endif
