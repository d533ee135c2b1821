#include "harness/rules/private/counter_history.h"

#include "harness/base/check.h"

#include <string.h>

static void set_bounds(struct counter_bounds *bounds, enum target_counter counter, uint64_t low,
                       uint64_t high)
{
    CHECK_COSTLY(low <= high);
    bounds->low[counter] = low;
    bounds->high[counter] = high;
}

struct counter_bounds counter_bounds_open(void)
{
    struct counter_bounds bounds = {.low = {0}};
    memset(bounds.high, 0xFF, sizeof bounds.high);
    return bounds;
}

struct counter_bounds counter_bounds_of(const struct host *host, bool without_hole)
{
    const struct model *model = host->model;
    const struct model_counters *is = model_counters(model);
    const uint64_t capacity = model_capacity_bytes(model);
    struct counter_bounds bounds = counter_bounds_open();
    set_bounds(&bounds, TARGET_COUNTER_NUM_ALLOCS, is->block_count, is->block_count);
    set_bounds(&bounds, TARGET_COUNTER_BYTES_IN_USE, is->in_use_bytes, is->in_use_bytes);
    set_bounds(&bounds, TARGET_COUNTER_PEAK_BYTES_IN_USE, is->peak_low_bytes, is->peak_high_bytes);
    set_bounds(&bounds, TARGET_COUNTER_LARGEST_ALLOC_SIZE, is->largest_block_bytes,
               is->largest_block_bytes);
    set_bounds(&bounds, TARGET_COUNTER_BYTES_LIMIT, capacity, capacity);
    set_bounds(&bounds, TARGET_COUNTER_BYTES_RESERVED, is->reserved_bytes, is->reserved_bytes);
    set_bounds(&bounds, TARGET_COUNTER_PEAK_BYTES_RESERVED, is->peak_reserved_bytes,
               is->peak_reserved_bytes);
    /* Room that is kept for an absent block is no hole, and nobody can see where it is; nor where
     * blocks are whose places are hidden. */
    const bool has_places = host->contract.placement != PLACEMENT_HIDDEN || is->block_count == 0;
    if (!without_hole && has_places && model_absent_count(model) == 0) {
        const uint64_t largest = model_largest_hole_bytes(model);
        set_bounds(&bounds, TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES, largest, largest);
    }
    return bounds;
}

bool counter_history_is_needed(const struct target_contract *contract)
{
    for (unsigned i = 0; i < TARGET_COUNTER_COUNT; i++) {
        if (contract->counting[i] == TARGET_COUNT_LATE) {
            return true;
        }
    }
    return false;
}

void counter_history_init(struct counter_history *history, const struct host *host, uint32_t run)
{
    const uint64_t capacity = model_capacity_bytes(host->model);
    struct counter_bounds bounds = {.low = {0}};
    set_bounds(&bounds, TARGET_COUNTER_BYTES_LIMIT, capacity, capacity);
    set_bounds(&bounds, TARGET_COUNTER_BYTES_RESERVABLE_LIMIT, 0, UINT64_MAX);
    set_bounds(&bounds, TARGET_COUNTER_LARGEST_FREE_BLOCK_BYTES, capacity, capacity);
    history->op_count = 0;
    history->run = run;
    memset(history->shown, 0, sizeof history->shown);
    counter_history_add(history, &bounds);
}

void counter_history_add(struct counter_history *history, const struct counter_bounds *bounds)
{
    history->bounds[history->op_count++ % COUNTER_HISTORY_COUNT] = *bounds;
}

/* The earliest op that explains the value leaves most to those that follow: a value that no op
 * explains then, none ever could. */
bool counter_history_takes(struct counter_history *history, enum target_counter counter,
                           uint64_t value)
{
    CHECK(history->op_count > 0);
    CHECK((unsigned)counter < TARGET_COUNTER_COUNT);
    const uint64_t oldest = history->op_count > COUNTER_HISTORY_COUNT
                                ? history->op_count - COUNTER_HISTORY_COUNT
                                : 0;
    uint64_t op = history->shown[counter] > oldest ? history->shown[counter] : oldest;
    for (; op < history->op_count; op++) {
        const struct counter_bounds *bounds = &history->bounds[op % COUNTER_HISTORY_COUNT];
        if (value >= bounds->low[counter] && value <= bounds->high[counter]) {
            history->shown[counter] = op;
            return true;
        }
    }
    return false;
}
