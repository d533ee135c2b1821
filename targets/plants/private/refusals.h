/* Defects that say out of memory too early. */
#ifndef TARGETS_PLANT_REFUSALS_H
#define TARGETS_PLANT_REFUSALS_H

#include "targets/plants/private/plant.h"

extern const struct plant_defect defect_undrained;
extern const struct plant_defect defect_stalled;
extern const struct plant_defect defect_unretried;
extern const struct plant_defect defect_moved_unretried;
extern const struct plant_defect defect_defragmented_once;
extern const struct plant_defect defect_evicted_once;
extern const struct plant_defect defect_rounded;
extern const struct plant_defect defect_binned;
extern const struct plant_defect defect_last_hole;

#endif
