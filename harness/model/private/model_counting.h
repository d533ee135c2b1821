/* Counts a block with a range in the counters of a model.  It is in a header, so that it is
 * compiled in one piece with model_add() and model_end_plain(), which nearly all ops call. */
#ifndef HARNESS_MODEL_PRIVATE_MODEL_COUNTING_H
#define HARNESS_MODEL_PRIVATE_MODEL_COUNTING_H

#include "harness/base/check.h"
#include "harness/base/often.h"
#include "harness/model/private/model_state.h"

/* --- counters --- */

static inline void model_count_tag(struct model *model, const struct block *block)
{
    model->tag_bytes[block->tag] += block->size_bytes;
    model->tag_counts[block->tag]++;
    CHECK_COSTLY(model->tag_bytes[block->tag] >= block->size_bytes);
    CHECK_COSTLY(model->tag_counts[block->tag] > 0);
}

static inline void model_uncount_tag(struct model *model, const struct block *block)
{
    CHECK(model->tag_counts[block->tag] > 0);
    CHECK(model->tag_bytes[block->tag] >= block->size_bytes);
    model->tag_bytes[block->tag] -= block->size_bytes;
    model->tag_counts[block->tag]--;
}

/* The room that the block has claimed. */
static inline void model_count_placed(struct model *model, const struct block *block)
{
    struct model_counters *counters = &model->counters;
    counters->block_count++;
    counters->in_use_bytes += block->size_bytes;
    CHECK_COSTLY(counters->in_use_bytes >= block->size_bytes);
    CHECK_COSTLY(counters->block_count > 0);
    raise_to(&counters->largest_block_bytes, block->size_bytes);
    /* The target may have placed the block before it took in what completed meanwhile. */
    raise_to(&counters->peak_high_bytes, model->in_use_before_bytes + block->size_bytes);
    raise_to(&counters->peak_high_bytes, counters->in_use_bytes);
    raise_to(&counters->peak_low_bytes, counters->in_use_bytes);
    CHECK(counters->peak_low_bytes <= counters->peak_high_bytes);
    model->holes_known = false;
    model->slack_bytes += block->align_bytes - model->contract.granule_bytes;
    if (block->kind == BLOCK_RETIRED) {
        model->retired_count++;
        model->retired_bytes += block->size_bytes;
        return;
    }
    model_count_tag(model, block);
}

/* The room that the block gives back. */
static inline void model_count_displaced(struct model *model, const struct block *block)
{
    CHECK(model->counters.block_count > 0);
    CHECK(model->counters.in_use_bytes >= block->size_bytes);
    CHECK(block->kind != BLOCK_RETIRED);
    model->counters.block_count--;
    model->counters.in_use_bytes -= block->size_bytes;
    model_uncount_tag(model, block);
    model->slack_bytes -= block->align_bytes - model->contract.granule_bytes;
    model->holes_known = false;
}

/* --- ranges --- */

/* Whose the range is. */
static SELDOM uint32_t model_slot_in_the_way(const struct model *model, struct span_cursor cursor)
{
    struct span span;
    span_map_get(&model->map, &cursor, &span);
    return (uint32_t)span.owner;
}

/* Takes the range into the map; false: slot *other lies there. */
static inline bool model_claim(struct model *model, uint32_t slot, const struct target_block *at,
                               uint32_t *other)
{
    CHECK(slot < model->block_count);
    const struct span_claim claim = span_map_claim(&model->map, at->address,
                                                   at->address + at->size_bytes, slot);
    if (claim.is_free) {
        model->blocks[slot].place = claim.cursor.entry;
        return true;
    }
    *other = model_slot_in_the_way(model, claim.cursor);
    CHECK(*other != slot);
    return false;
}

/* Takes it out again. */
static inline void model_unclaim(struct model *model, const struct block *block)
{
    span_map_remove(&model->map, (struct span_cursor){block->place});
}

#endif
