/* The planted targets, one per row of targets/plants/plants.c; `breaks` of each names the rule that
 * must catch it. */
#ifndef TARGETS_PLANTS_H
#define TARGETS_PLANTS_H

#include "harness/target.h"

extern const struct target plant_premature_undrained;
extern const struct target plant_premature_stalled;
extern const struct target plant_premature_unretried;
extern const struct target plant_premature_moved_unretried;
extern const struct target plant_premature_defragmented_once;
extern const struct target plant_premature_evicted_once;
extern const struct target plant_premature_rounded;
extern const struct target plant_premature_binned;
extern const struct target plant_premature_last_hole;
extern const struct target plant_overlap;
extern const struct target plant_outside;
extern const struct target plant_misaligned;
extern const struct target plant_too_small;
extern const struct target plant_contents;
extern const struct target plant_reused_early;
extern const struct target plant_held_moved;
extern const struct target plant_moved_unasked;
extern const struct target plant_busy_evicted;
extern const struct target plant_wrong_eviction;
extern const struct target plant_failed_changed;
extern const struct target plant_counters;
extern const struct target plant_message;
extern const struct target plant_report;
extern const struct target plant_status;
extern const struct target plant_handle;
extern const struct target plant_hang;
extern const struct target plant_not_coalesced;
extern const struct target plant_host_memory;
extern const struct target plant_spmd;
extern const struct target plant_replay;
extern const struct target plant_regret_evicts_first;
extern const struct target plant_regret_moves_first;
extern const struct target plant_regret_evicts_all;
extern const struct target plant_regret_moves_all;
extern const struct target plant_crash_segv;
extern const struct target plant_crash_abort;
extern const struct target plant_crash_exit;
extern const struct target plant_crash_host_refused;
extern const struct target plant_hang_spin;
extern const struct target plant_overrun;
extern const struct target plant_contents_scribble;
extern const struct target plant_contents_lost_copy;
extern const struct target plant_host_memory_leak;
extern const struct target plant_host_memory_grow;
extern const struct target plant_counters_failed;
extern const struct target plant_overlap_half_unload;

#endif
