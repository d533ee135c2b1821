#include "harness/base/series.h"

#include "harness/base/check.h"

/* With what came behind it. */
static void join_slot(struct series_slot *slot, const struct series_slot *behind)
{
    const bool falls = behind->floor_bytes < slot->floor_bytes;
    const bool rises = behind->top_bytes > slot->top_bytes;
    if (falls && rises) {
        *slot = *behind;
        return;
    }
    slot->floor_bytes = falls ? behind->floor_bytes : slot->floor_bytes;
    slot->top_bytes = rises ? behind->top_bytes : slot->top_bytes;
    slot->is_floor_first = rises || (!falls && slot->is_floor_first);
}

static void halve_slots(struct series *series)
{
    for (size_t i = 0; i < SERIES_SLOT_COUNT_MAX / 2; i++) {
        struct series_slot slot = series->slots[2 * i];
        join_slot(&slot, &series->slots[2 * i + 1]);
        series->slots[i] = slot;
    }
    series->count = SERIES_SLOT_COUNT_MAX / 2;
    series->slot_units *= 2;
}

void series_widen(struct series *series, uint64_t bytes)
{
    CHECK(series->count > 0);
    join_slot(&series->slots[series->count - 1], &(struct series_slot){bytes, bytes, false});
}

void series_add(struct series *series, uint64_t bytes)
{
    if (series->count == 0) {
        series->slot_units = 1;
    }
    const uint64_t slot_units = series->slot_units;
    if (series->unit_count++ % slot_units != 0) {
        series_widen(series, bytes);
        return;
    }
    if (series->count == SERIES_SLOT_COUNT_MAX) {
        halve_slots(series);
    }
    series->slots[series->count++] = (struct series_slot){bytes, bytes, false};
    CHECK(series->count <= SERIES_SLOT_COUNT_MAX);
}
