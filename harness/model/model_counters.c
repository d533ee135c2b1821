#include "harness/base/check.h"
#include "harness/model/private/model_state.h"

void model_count_reserved(struct model *model)
{
    CHECK_COSTLY(model->busy.count <= model->block_count);
    uint64_t reserved = 0;
    for (size_t i = 0; i < model->busy.count; i++) {
        CHECK(model->blocks[model->busy.slots[i]].use_count > 0);
        raise_to(&reserved, model->blocks[model->busy.slots[i]].stack_bytes);
    }
    if (reserved != model->counters.reserved_bytes) {
        model->holes_known = false;
    }
    model->counters.reserved_bytes = reserved;
    model_reserve_briefly(model, reserved);
}

void model_reserve_briefly(struct model *model, uint64_t stack_bytes)
{
    raise_to(&model->counters.peak_reserved_bytes, stack_bytes);
}

void model_widen_peak(struct model *model, uint64_t low_bytes, uint64_t high_bytes)
{
    struct model_counters *counters = &model->counters;
    CHECK(low_bytes <= high_bytes);
    counters->peak_low_bytes = low_bytes > counters->in_use_bytes ? low_bytes
                                                                  : counters->in_use_bytes;
    CHECK(counters->peak_low_bytes >= counters->in_use_bytes);
    counters->peak_high_bytes = high_bytes > counters->peak_low_bytes ? high_bytes
                                                                      : counters->peak_low_bytes;
}

/* --- reading --- */

uint64_t model_pinned_count_max(const struct model *model)
{
    return model->pin_count + model->dying.count;
}

uint64_t model_slack_bytes(const struct model *model)
{
    return model->slack_bytes;
}

uint64_t model_retired_count(const struct model *model)
{
    return model->retired_count;
}

uint64_t model_retired_bytes(const struct model *model)
{
    return model->retired_bytes;
}

uint64_t model_in_use_without(const struct model *model, unsigned tag)
{
    return model->counters.in_use_bytes - model->retired_bytes -
           (tag < OP_TAG_COUNT ? model->tag_bytes[tag] : 0);
}

const uint64_t *model_tag_bytes(const struct model *model)
{
    return model->tag_bytes;
}

uint64_t model_tag_count(const struct model *model, uint8_t tag)
{
    return model->tag_counts[tag];
}
