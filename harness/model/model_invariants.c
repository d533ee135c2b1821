#include "harness/model/private/model_state.h"

/* Over all blocks with a range, and those that are absent. */
struct block_sums {
    uint64_t in_use_bytes, slack_bytes, pin_count;
};

static void add_to_sums(struct block_sums *sums, const struct model *model,
                        const struct block *block)
{
    sums->in_use_bytes += block->size_bytes;
    sums->pin_count += (uint64_t)block->hold_count + block->use_count;
    sums->slack_bytes += block->align_bytes - model->contract.granule_bytes;
}

/* Each absent block is in the list once: a second time would make the sums wrong. */
static bool has_sound_absent(const struct model *model, struct block_sums *sums)
{
    for (size_t i = 0; i < model->absent.count; i++) {
        const struct block *block = &model->blocks[model->absent.slots[i]];
        if (block->state == BLOCK_GONE || !block->is_absent) {
            return false;
        }
        add_to_sums(sums, model, block);
    }
    return true;
}

/* Each range of the map is its block's. */
static bool has_sound_places(const struct model *model, struct block_sums *sums)
{
    struct span span;
    EACH_SPAN(&model->map, &span) {
        const struct block *block = &model->blocks[span.owner];
        if (block->state == BLOCK_GONE || block->is_absent || block->address != span.start ||
            block->address + block->size_bytes != span.end) {
            return false;
        }
        add_to_sums(sums, model, block);
    }
    return true;
}

/* Adds the pins of blocks that are gone and still in use: they keep them. */
static void add_gone_pins(struct block_sums *sums, const struct model *model,
                          const struct slot_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct block *block = &model->blocks[list->slots[i]];
        if (block->state == BLOCK_GONE) {
            sums->pin_count += (uint64_t)block->hold_count + block->use_count;
        }
    }
}

bool model_invariants_hold(const struct model *model)
{
    struct block_sums sums = {0};
    add_gone_pins(&sums, model, &model->kept);
    add_gone_pins(&sums, model, &model->programs);
    return span_map_invariants_hold(&model->map) && has_sound_absent(model, &sums) &&
           model->map.count + model->absent.count == model->counters.block_count &&
           has_sound_places(model, &sums) && sums.in_use_bytes == model->counters.in_use_bytes &&
           sums.slack_bytes == model->slack_bytes && sums.pin_count == model->pin_count;
}
