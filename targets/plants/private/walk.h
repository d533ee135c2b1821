/* Work in memory that is counted: the one part of the plants that is compiled as explored targets
 * are. */
#ifndef TARGETS_PLANTS_PRIVATE_WALK_H
#define TARGETS_PLANTS_PRIVATE_WALK_H

#include "targets/plants/private/plant.h"

/* The index of the one of the first count_max blocks that was used last; 0 where there is none.
 * O(count_max), some reads for each. */
size_t walk_find_latest(const struct plant *plant, size_t count_max);

#endif
