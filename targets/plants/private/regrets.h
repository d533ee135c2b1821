/* Defects that cost more than they have to: needless evictions and moves, with every promise kept.
 */
#ifndef TARGETS_PLANT_REGRETS_H
#define TARGETS_PLANT_REGRETS_H

#include "targets/plants/private/plant.h"

extern const struct plant_defect defect_evicts_first;
extern const struct plant_defect defect_moves_first;
extern const struct plant_defect defect_evicts_all;
extern const struct plant_defect defect_moves_all;

#endif
