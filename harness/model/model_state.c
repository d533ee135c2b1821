#include "harness/model/private/model_state.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/often.h"
#include "harness/device/timeline.h"
#include "harness/model/private/op_index.h"

#include <stdlib.h>
#include <string.h>

/* --- the index of ops --- */

enum { CHAIN_COUNT_MIN = 64, SHIFT_MAX = 26 };

void op_index_deinit(struct op_index *index)
{
    free(index->heads);
    *index = (struct op_index){0};
}

SELDOM void op_index_grow(struct op_index *index, struct block *blocks)
{
    const struct op_index before = *index;
    const size_t count = before.heads == NULL ? CHAIN_COUNT_MIN : before.chain_count * 2;
    index->shift = before.heads == NULL ? SHIFT_MAX : before.shift - 1;
    index->chain_count = count;
    index->count = 0;
    index->heads = array_resized(NULL, count * sizeof *index->heads);
    memset(index->heads, 0xFF, count * sizeof *index->heads);
    for (size_t i = 0; i < before.chain_count; i++) {
        uint32_t slot = before.heads[i];
        while (slot != SLOT_NONE) {
            const uint32_t next = blocks[slot].next_of_op;
            op_index_add(index, blocks, slot);
            slot = next;
        }
    }
    CHECK(index->count == before.count);
    free(before.heads);
}

/* --- its life --- */

struct model *model_create(uint64_t capacity_bytes, const struct target_contract *contract,
                           const struct timeline *timeline)
{
    CHECK(timeline != NULL);
    CHECK(capacity_bytes > 0);
    struct model *model = array_zeroed(1, sizeof *model);
    model->counters.capacity_bytes = capacity_bytes;
    model->contract = *contract;
    model->timeline = timeline;
    model->last_op = model->open_recording = OP_NONE;
    model->waiters.free_node = SLOT_NONE;
    span_map_init(&model->map);
    return model;
}

void model_destroy(struct model *model)
{
    if (model == NULL) {
        return;
    }
    CHECK_COSTLY(model->block_count <= model->block_capacity);
    CHECK_COSTLY(model->waiters.node_count <= model->waiters.node_capacity);
    span_map_deinit(&model->map);
    free_map_deinit(&model->free_map);
    free(model->blocks);
    free(model->free_slots.slots);
    op_index_deinit(&model->slots);
    free(model->live.slots);
    free(model->programs.slots);
    free(model->dying.slots);
    free(model->busy.slots);
    free(model->absent.slots);
    free(model->kept.slots);
    free(model->recordings.slots);
    number_map_deinit(&model->waiters.heads);
    free(model->waiters.nodes);
    free(model->gone);
    free(model->regions);
    free(model);
}

void model_begin_op(struct model *model, uint32_t op)
{
    CHECK(op < OP_NONE);
    CHECK(model->completed_count <= timeline_completed_count(model->timeline));
    model->op = op;
}

/* A walk over all blocks comes once in so many ops that it costs each as much as a walk over these.
 */
enum { WALKED_BLOCK_COUNT = 32 };

static inline void end_op(struct model *model, bool skipped)
{
    CHECK_COSTLY(model->op % (1 + model->counters.block_count / WALKED_BLOCK_COUNT) != 0 ||
                 model_invariants_hold(model));
    CHECK_COSTLY(model->counters.peak_low_bytes <= model->counters.peak_high_bytes);
    /* Only a target that was called must have taken in what completed: another host's op does not
     * count. */
    if (!skipped) {
        model->in_use_before_bytes = model->counters.in_use_bytes;
    }
}

void model_end_op(struct model *model, enum target_result result, bool skipped)
{
    CHECK(model->op != OP_NONE);
    CHECK_COSTLY(model->op < OP_NONE);
    model->last_result = result;
    model->last_skipped = skipped;
    model->last_op = model->op;
    end_op(model, skipped);
}

void model_end_unseen_op(struct model *model, bool skipped)
{
    end_op(model, skipped);
}

const struct model_gone *model_gone(const struct model *model, size_t *count)
{
    CHECK_COSTLY(model->gone != NULL || model->gone_count == 0);
    CHECK_COSTLY(model->gone_count <= model->gone_capacity);
    *count = model->gone_count;
    return model->gone;
}

void model_forget_gone(struct model *model)
{
    CHECK_COSTLY(model->gone_count <= model->gone_capacity);
    CHECK_COSTLY(model->gone != NULL || model->gone_count == 0);
    model->gone_count = 0;
}

void model_set_unordered(struct model *model)
{
    model->is_unordered = true;
}

/* --- sleep --- */

bool model_is_asleep(const struct model *model)
{
    return model->is_asleep;
}

void model_set_asleep(struct model *model, bool is_asleep)
{
    CHECK(is_asleep != model->is_asleep);
    CHECK(model->dying.count + model->busy.count + model->absent.count == 0);
    model->is_asleep = is_asleep;
}

bool model_is_idle(const struct model *model)
{
    if (model->dying.count + model->busy.count + model->absent.count + model->kept.count > 0) {
        return false;
    }
    for (size_t i = 0; i < model->live.count; i++) {
        if (model_live(model, i)->use_count > 0) {
            return false;
        }
    }
    return true;
}

bool model_is_plain(const struct model *model)
{
    return (model->absent.count | model->kept.count) == 0 && !model->is_asleep;
}

/* --- blocks --- */

size_t model_slot_count(const struct model *model)
{
    return model->block_count;
}

uint32_t model_slot_of_op(const struct model *model, uint32_t op)
{
    return op_index_find(&model->slots, model->blocks, op);
}

const struct block *model_block(const struct model *model, uint32_t slot)
{
    CHECK(slot < model->block_count);
    return &model->blocks[slot];
}

const struct block *model_find(const struct model *model, uint32_t op)
{
    const uint32_t slot = model_slot_of_op(model, op);
    return slot == SLOT_NONE || !model->blocks[slot].is_known ? NULL : &model->blocks[slot];
}

size_t model_live_count(const struct model *model)
{
    return model->live.count;
}

const struct block *model_live(const struct model *model, size_t index)
{
    return &model->blocks[slot_list_at(&model->live, index)];
}

size_t model_program_count(const struct model *model)
{
    return model->programs.count;
}

const struct block *model_program(const struct model *model, size_t index)
{
    return &model->blocks[slot_list_at(&model->programs, index)];
}

size_t model_busy_count(const struct model *model)
{
    return model->busy.count;
}

size_t model_dying_count(const struct model *model)
{
    return model->dying.count;
}

const struct block *model_dying(const struct model *model, size_t index)
{
    return &model->blocks[slot_list_at(&model->dying, index)];
}

size_t model_absent_count(const struct model *model)
{
    return model->absent.count;
}

uint32_t model_absent_slot(const struct model *model, size_t index)
{
    return slot_list_at(&model->absent, index);
}

const struct span_map *model_map(const struct model *model)
{
    return &model->map;
}

/* --- the device and its time --- */

uint64_t model_granule_bytes(const struct model *model)
{
    return model->contract.granule_bytes;
}

const struct target_contract *model_contract(const struct model *model)
{
    return &model->contract;
}

size_t model_event_count(const struct model *model)
{
    return timeline_pending_count(model->timeline);
}

uint32_t model_event_op(const struct model *model, size_t index)
{
    return (uint32_t)(timeline_pending_at(model->timeline, index) - 1);
}

uint64_t model_now_ns(const struct model *model)
{
    return timeline_now_ns(model->timeline);
}

/* --- the last op --- */

enum target_result model_last_result(const struct model *model)
{
    return model->last_result;
}

bool model_last_skipped(const struct model *model)
{
    return model->last_skipped;
}

uint32_t model_last_op(const struct model *model)
{
    return model->last_op;
}
