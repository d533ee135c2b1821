#include "targets/targets.h"

#include "targets/plants/plants.h"
#include "targets/threaded/races.h"

#include <string.h>

const struct target *const targets[] = {
    &target_hbm,
    &target_first_fit,
    &target_null,
    &target_threaded,
    &plant_premature_undrained,
    &plant_premature_stalled,
    &plant_premature_unretried,
    &plant_premature_moved_unretried,
    &plant_premature_defragmented_once,
    &plant_premature_evicted_once,
    &plant_premature_rounded,
    &plant_premature_binned,
    &plant_premature_last_hole,
    &plant_overlap,
    &plant_outside,
    &plant_misaligned,
    &plant_too_small,
    &plant_contents,
    &plant_reused_early,
    &plant_held_moved,
    &plant_moved_unasked,
    &plant_busy_evicted,
    &plant_wrong_eviction,
    &plant_failed_changed,
    &plant_counters,
    &plant_message,
    &plant_report,
    &plant_status,
    &plant_handle,
    &plant_hang,
    &plant_not_coalesced,
    &plant_host_memory,
    &plant_spmd,
    &plant_replay,
    &plant_regret_evicts_first,
    &plant_regret_moves_first,
    &plant_regret_evicts_all,
    &plant_regret_moves_all,
    &plant_crash_segv,
    &plant_crash_abort,
    &plant_crash_exit,
    &plant_crash_host_refused,
    &plant_hang_spin,
    &plant_overrun,
    &plant_contents_scribble,
    &plant_contents_lost_copy,
    &plant_host_memory_leak,
    &plant_host_memory_grow,
    &plant_counters_failed,
    &plant_overlap_half_unload,
    NULL,
};

static const struct target *find_in(const struct target *const *table, const char *name)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        if (strcmp(table[i]->name, name) == 0) {
            return table[i];
        }
    }
    return NULL;
}

const struct target *target_find(const char *name)
{
    const struct target *found = find_in(targets, name);
    return found != NULL ? found : find_in(races, name);
}
