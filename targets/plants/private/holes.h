/* Finds where the heap of a plant is free, for defects that lose a hole. */
#ifndef TARGETS_PLANTS_PRIVATE_HOLES_H
#define TARGETS_PLANTS_PRIVATE_HOLES_H

#include "targets/plants/private/plant.h"

/* [start, end), in bytes; start < end. */
struct plant_hole {
    uint64_t start, end;
};

/* The holes between the stack and the end of the device, the lowest first; count of them.  The
 * caller frees the list.  O(blocks log blocks). */
struct plant_hole *plant_list_holes(struct plant *plant, size_t *count);

/* Returns true when the request fits there now. */
bool plant_hole_fits(const struct plant *plant, const struct plant_hole *hole,
                     const struct target_request *request);

#endif
