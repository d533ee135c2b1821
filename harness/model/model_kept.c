/* Memory of blocks that have ended for their own stream, and not yet for others. */
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

bool model_is_open_to(const struct block *kept, uint32_t stream)
{
    return kept->stream == stream;
}
