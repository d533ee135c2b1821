/* Defects that end or stop the process, scribble over memory, leak that of the host, or show only
 * when the device refuses something. */
#ifndef TARGETS_PLANT_DEATHS_H
#define TARGETS_PLANT_DEATHS_H

#include "targets/plants/private/plant.h"

extern const struct plant_defect defect_crash_segv;
extern const struct plant_defect defect_crash_abort;
extern const struct plant_defect defect_crash_exit;
extern const struct plant_defect defect_crash_host_refused;
extern const struct plant_defect defect_hang_spin;
extern const struct plant_defect defect_overrun;
extern const struct plant_defect defect_contents_scribble;
extern const struct plant_defect defect_contents_lost_copy;
extern const struct plant_defect defect_host_memory_leak;
extern const struct plant_defect defect_host_memory_grow;
extern const struct plant_defect defect_counters_failed;
extern const struct plant_defect defect_overlap_half_unload;

#endif
