/* Defects in what is counted, printed and given back, and in what should be the same twice. */
#ifndef TARGETS_PLANT_NUMBERS_H
#define TARGETS_PLANT_NUMBERS_H

#include "targets/plants/private/plant.h"

extern const struct plant_defect defect_counters;
extern const struct plant_defect defect_message;
extern const struct plant_defect defect_report;
extern const struct plant_defect defect_not_coalesced;
extern const struct plant_defect defect_host_memory;
extern const struct plant_defect defect_spmd;
extern const struct plant_defect defect_replay;

#endif
