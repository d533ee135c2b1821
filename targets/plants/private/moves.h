/* Defects in what moves and what is evicted. */
#ifndef TARGETS_PLANT_MOVES_H
#define TARGETS_PLANT_MOVES_H

#include "targets/plants/private/plant.h"

extern const struct plant_defect defect_contents;
extern const struct plant_defect defect_held_moved;
extern const struct plant_defect defect_moved_unasked;
extern const struct plant_defect defect_failed_changed;
extern const struct plant_defect defect_busy_evicted;
extern const struct plant_defect defect_wrong_eviction;
extern const struct plant_defect defect_hang;

#endif
