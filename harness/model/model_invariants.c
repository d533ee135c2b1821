#include "harness/model/private/model_state.h"

/* Each absent block is in the list once: a second time would make the sums wrong. */
static bool has_sound_absent(const struct model *model, uint64_t *in_use)
{
    for (size_t i = 0; i < model->absent.count; i++) {
        const struct block *block = &model->blocks[model->absent.slots[i]];
        if (block->state == BLOCK_GONE || !block->is_absent) {
            return false;
        }
        *in_use += block->size_bytes;
    }
    return true;
}

/* Each range of the map is its block's. */
static bool has_sound_places(const struct model *model, uint64_t *in_use)
{
    struct span_cursor cursor;
    struct span span;
    for (bool found = span_map_first(&model->map, &cursor); found;
         found = span_map_next(&model->map, &cursor)) {
        span_map_get(&model->map, &cursor, &span);
        const struct block *block = &model->blocks[span.owner];
        if (block->state == BLOCK_GONE || block->is_absent || block->address != span.start ||
            block->address + block->size_bytes != span.end) {
            return false;
        }
        *in_use += block->size_bytes;
    }
    return true;
}

bool model_invariants_hold(const struct model *model)
{
    uint64_t in_use = 0;
    return span_map_invariants_hold(&model->map) && has_sound_absent(model, &in_use) &&
           model->map.count + model->absent.count == model->counters.block_count &&
           has_sound_places(model, &in_use) && in_use == model->counters.in_use_bytes;
}
