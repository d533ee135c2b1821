/* Memory of blocks that have ended for their own stream or recording, and not yet for others. */
#include "harness/base/check.h"
#include "harness/model/private/model_state.h"

bool model_has_ended(const struct model *model, const struct block *block)
{
    return model->contract.stream_ordered ? block->away_count == 0
                                          : block->use_count == 0 && block->wait_count == 0;
}

size_t model_kept_count(const struct model *model)
{
    return model->kept.count;
}

uint32_t model_kept_slot(const struct model *model, size_t index)
{
    return slot_list_at(&model->kept, index);
}

const struct block *model_kept(const struct model *model, size_t index)
{
    return &model->blocks[model_kept_slot(model, index)];
}

enum kept_for model_kept_for(const struct model *model, const struct block *kept, uint32_t stream)
{
    if (kept->recording != OP_NONE && kept->recording != model->open_recording) {
        return KEPT_FOR_RECORDING;
    }
    const bool is_pending = kept->use_count > 0 || kept->wait_count > 0;
    return is_pending && kept->stream != stream ? KEPT_FOR_STREAM : KEPT_FOR_NONE;
}

/* --- where nobody sees places --- */

static uint32_t find_first_end(const struct model *model, uint32_t stream)
{
    uint32_t first = OP_NONE;
    for (size_t i = 0; i < model_kept_count(model); i++) {
        const struct block *block = model_kept(model, i);
        first = block->stream == stream && block->end_op < first ? block->end_op : first;
    }
    return first;
}

/* A block that was asked for since then may lie on what was kept, or have left it to be kept anew.
 */
static uint64_t find_surely_kept(const struct model *model, uint32_t stream)
{
    const uint32_t first = find_first_end(model, stream);
    uint64_t kept = 0;
    uint64_t asked = 0;
    for (size_t i = 0; first != OP_NONE && i < model_kept_count(model); i++) {
        const struct block *block = model_kept(model, i);
        kept += block->stream == stream && block->op < first ? block->size_bytes : 0;
    }
    for (size_t slot = 0; kept > 0 && slot < model->block_count; slot++) {
        const struct block *block = &model->blocks[slot];
        asked += block->state != BLOCK_GONE && block->stream == stream && block->op > first
                     ? block->size_bytes
                     : 0;
    }
    return kept > asked ? kept - asked : 0;
}

uint64_t model_kept_elsewhere_bytes(const struct model *model, uint32_t stream)
{
    uint64_t bytes = 0;
    for (uint32_t other = 0; model_kept_count(model) > 0 && other < OP_STREAM_COUNT_MAX; other++) {
        bytes += other == stream ? 0 : find_surely_kept(model, other);
    }
    return bytes;
}

/* --- recordings --- */

uint32_t model_open_recording(const struct model *model)
{
    return model->open_recording;
}

size_t model_recording_count(const struct model *model)
{
    return model->recordings.count;
}

uint32_t model_recording(const struct model *model, size_t index)
{
    return slot_list_at(&model->recordings, index);
}

bool model_has_recording(const struct model *model, uint32_t op)
{
    size_t i = 0;
    while (i < model->recordings.count && model_recording(model, i) != op) {
        i++;
    }
    return i < model->recordings.count;
}

void model_begin_recording(struct model *model)
{
    CHECK(model->open_recording == OP_NONE);
    model->open_recording = model->op;
}

void model_end_recording(struct model *model)
{
    CHECK(model->open_recording != OP_NONE);
    slot_list_add(&model->recordings, model->open_recording);
    model->open_recording = OP_NONE;
}

void model_drop_recording(struct model *model, uint32_t op)
{
    slot_list_take(&model->recordings, op);
    for (size_t slot = 0; slot < model->block_count; slot++) {
        struct block *block = &model->blocks[slot];
        if (block->recording == op) {
            block->recording = OP_NONE;
            model_settle(model, (uint32_t)slot);
        }
    }
}
