#include "targets/targets.h"

#include "targets/plants.h"

#include <string.h>

const struct target *const targets[] = {
    &target_hbm,
    &target_first_fit,
    &target_null,
    &plant_premature_undrained,
    &plant_premature_stalled,
    &plant_premature_unretried,
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
    NULL,
};

const struct target *target_find(const char *name)
{
    for (size_t i = 0; targets[i] != NULL; i++) {
        if (strcmp(targets[i]->name, name) == 0) {
            return targets[i];
        }
    }
    return NULL;
}

enum { NAME_BYTES = 64 };

/* Letters to insert, delete or replace (Levenshtein); one row of the table at a time. */
static size_t distance(const char *from, const char *to)
{
    const size_t from_length = strnlen(from, NAME_BYTES);
    const size_t to_length = strnlen(to, NAME_BYTES);
    size_t row[NAME_BYTES + 1];
    for (size_t k = 0; k <= to_length; k++) {
        row[k] = k;
    }
    for (size_t i = 1; i <= from_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= to_length; k++) {
            const size_t replaced = diagonal + (from[i - 1] != to[k - 1]);
            const size_t shorter = row[k] < row[k - 1] ? row[k] + 1 : row[k - 1] + 1;
            diagonal = row[k];
            row[k] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[to_length];
}

const char *target_nearest(const char *name)
{
    const char *nearest = NULL;
    /* More than a third of the letters wrong is another word. */
    size_t least = strnlen(name, NAME_BYTES) / 3 + 1;
    for (size_t i = 0; targets[i] != NULL; i++) {
        const size_t letters = distance(name, targets[i]->name);
        if (letters <= least && (nearest == NULL || letters < least)) {
            least = letters;
            nearest = targets[i]->name;
        }
    }
    return nearest;
}
