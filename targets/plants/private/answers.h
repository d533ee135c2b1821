/* Defects in what a call answers: where the block is, how large, how it is called, and whether it
 * failed. */
#ifndef TARGETS_PLANT_ANSWERS_H
#define TARGETS_PLANT_ANSWERS_H

#include "targets/plants/private/plant.h"

extern const struct plant_defect defect_overlap;
extern const struct plant_defect defect_outside;
extern const struct plant_defect defect_misaligned;
extern const struct plant_defect defect_too_small;
extern const struct plant_defect defect_reused_early;
extern const struct plant_defect defect_handle;
extern const struct plant_defect defect_status;

#endif
