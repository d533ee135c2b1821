#include "harness/base/check.h"
#include "harness/base/often.h"
#include "harness/device/timeline.h"
#include "harness/model/private/model_counting.h"
#include "harness/op/rounding.h"

/* --- slots --- */

static uint32_t take_slot(struct model *model)
{
    CHECK_COSTLY(model->free_slots.count <= model->block_count);
    CHECK_COSTLY(model->block_count <= model->block_capacity);
    if (model->free_slots.count > 0) {
        return model->free_slots.slots[--model->free_slots.count];
    }
    model->blocks = array_grown(model->blocks, model->block_count, &model->block_capacity,
                                sizeof *model->blocks);
    CHECK(model->block_count < SLOT_NONE);
    return (uint32_t)model->block_count++;
}

static void release_slot(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->live_index == SLOT_NONE);
    CHECK(block->use_count == 0);
    CHECK(block->wait_count == 0);
    op_index_remove(&model->slots, model->blocks, slot);
    slot_list_add(&model->free_slots, slot);
}

/* --- lists that know a block's place: it is in at most one of live, programs, dying, kept --- */

static void add_to_list(struct model *model, struct slot_list *list, uint32_t slot)
{
    CHECK(model->blocks[slot].live_index == SLOT_NONE);
    model->blocks[slot].live_index = (uint32_t)list->count;
    slot_list_add(list, slot);
    CHECK_COSTLY(slot_list_at(list, model->blocks[slot].live_index) == slot);
    CHECK_COSTLY(list->count <= model->block_count);
}

static void remove_from_list(struct model *model, struct slot_list *list, uint32_t slot)
{
    const uint32_t index = model->blocks[slot].live_index;
    CHECK(slot_list_at(list, index) == slot);
    CHECK(model->blocks[list->slots[list->count - 1]].live_index == list->count - 1);
    const uint32_t last = list->slots[--list->count];
    list->slots[index] = last;
    model->blocks[last].live_index = index;
    model->blocks[slot].live_index = SLOT_NONE;
}

/* Returns the list of what the client may name. */
static struct slot_list *find_list(struct model *model, enum block_kind kind)
{
    return kind == BLOCK_PROGRAM ? &model->programs : &model->live;
}

/* --- what ops do --- */

/* Returns the most bytes by contract.  Nobody asked for what went bad: it keeps its size. */
static uint64_t find_promised_bytes(const struct target_contract *contract,
                                    const struct model_new *what, const struct target_block *at)
{
    return what->promised_bytes != 0 ? what->promised_bytes
           : what->kind == BLOCK_RETIRED
               ? at->size_bytes
               : rounding_bytes_max(&contract->rounding, contract->granule_bytes,
                                    what->requested_bytes);
}

/* Fills in the block of a slot that has claimed its range. */
static void make_block(struct model *model, uint32_t slot, const struct model_new *what,
                       const struct target_block *at)
{
    struct block *block = &model->blocks[slot];
    const uint32_t place = block->place;
    zero_often(block, sizeof *block);
    block->address = at->address;
    block->size_bytes = at->size_bytes;
    block->handle = at->handle;
    block->requested_bytes = what->requested_bytes;
    block->align_bytes = what->align_bytes;
    block->stack_bytes = what->stack_bytes;
    block->stack_requested_bytes = what->stack_requested_bytes;
    block->promised_bytes = find_promised_bytes(&model->contract, what, at);
    block->op = model->op;
    block->recording = model->open_recording;
    block->place = place;
    block->live_index = SLOT_NONE;
    block->state = BLOCK_LIVE;
    block->kind = (uint8_t)what->kind;
    block->tag = what->tag;
    block->stream = what->stream;
    block->hold_count = what->kind == BLOCK_RETIRED;
    block->is_known = what->kind != BLOCK_RETIRED;
}

OFTEN bool model_add(struct model *model, const struct model_new *what,
                     const struct target_block *at, uint32_t *slot, uint32_t *other)
{
    const uint32_t taken = take_slot(model);
    CHECK(taken < model->block_count);
    if (!model_claim(model, taken, at, other)) {
        slot_list_add(&model->free_slots, taken);
        return false;
    }
    make_block(model, taken, what, at);
    if (what->kind != BLOCK_RETIRED) {
        op_index_add(&model->slots, model->blocks, taken);
        add_to_list(model, find_list(model, what->kind), taken);
    }
    model_count_placed(model, &model->blocks[taken]);
    model->pin_count += model->blocks[taken].hold_count;
    model_note_live(model, &model->blocks[taken], true);
    *slot = taken;
    return true;
}

void model_settle(struct model *model, uint32_t slot)
{
    CHECK(slot < model->block_count);
    struct block *block = &model->blocks[slot];
    CHECK(block->state != BLOCK_DYING || !block->is_known);
    const bool is_over = block->use_count == 0 && block->wait_count == 0 &&
                         block->recording == OP_NONE;
    if (block->state == BLOCK_GONE && is_over && !block->is_known &&
        block->live_index != SLOT_NONE) {
        remove_from_list(model, &model->kept, slot);
        release_slot(model, slot);
    }
    if (block->state != BLOCK_DYING || block->hold_count > 0 || !model_has_ended(model, block)) {
        return;
    }
    model_displace(model, slot);
    remove_from_list(model, &model->dying, slot);
    block->state = BLOCK_GONE;
    block->end_op = model->op;
    if (is_over) {
        release_slot(model, slot);
    } else {
        add_to_list(model, &model->kept, slot);
    }
}

static void await_free(struct model *model, uint32_t slot, uint64_t event)
{
    if (event != 0 && model_is_pending(model, event)) {
        model->blocks[slot].wait_count++;
        model_await(model, slot, event, false);
    }
}

void model_free(struct model *model, uint32_t slot, uint64_t event)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->is_known);
    CHECK(block->state != BLOCK_DYING);
    remove_from_list(model, find_list(model, block->kind), slot);
    block->is_known = false;
    if (block->state == BLOCK_GONE) { /* an evicted program */
        release_slot(model, slot);
        return;
    }
    if (!block->is_absent) {
        model_note_live(model, block, false);
    }
    block->state = BLOCK_DYING;
    add_to_list(model, &model->dying, slot);
    await_free(model, slot, event);
    const uint64_t last = model->contract.stream_ordered
                              ? timeline_last_enqueued(model->timeline, block->stream)
                              : 0;
    await_free(model, slot, last == event ? 0 : last);
    model_settle(model, slot);
}

OFTEN bool model_end_plain(struct model *model, uint32_t slot)
{
    struct block *block = &model->blocks[slot];
    CHECK(slot < model->block_count);
    if (block->state != BLOCK_LIVE || block->kind == BLOCK_PROGRAM || block->is_absent ||
        (block->hold_count | block->use_count | block->wait_count) != 0 ||
        block->recording != OP_NONE || model->contract.stream_ordered) {
        return false;
    }
    remove_from_list(model, &model->live, slot);
    model_note_live(model, block, false);
    model_unclaim(model, block);
    model_count_displaced(model, block);
    block->is_known = false;
    block->state = BLOCK_GONE;
    block->end_op = model->op;
    release_slot(model, slot);
    return true;
}

void model_hold(struct model *model, uint32_t slot)
{
    CHECK(slot < model->block_count);
    CHECK(model->blocks[slot].hold_count < UINT32_MAX);
    model->blocks[slot].hold_count++;
    model->pin_count++;
}

void model_release(struct model *model, uint32_t slot)
{
    CHECK(slot < model->block_count);
    CHECK(model->blocks[slot].hold_count > 0);
    model->blocks[slot].hold_count--;
    model->pin_count--;
    model_settle(model, slot);
}

/* The new block keeps the slot: its place, what is promised of its size, uses and the waits of its
 * events go on. */
uint32_t model_donate(struct model *model, uint32_t slot, const struct model_new *what,
                      const struct target_block *at)
{
    struct block *block = &model->blocks[slot];
    CHECK(block->hold_count == 0);
    CHECK(block->kind != BLOCK_PROGRAM);
    op_index_remove(&model->slots, model->blocks, slot);
    model_uncount_tag(model, block);
    block->op = model->op;
    block->handle = at->handle;
    block->requested_bytes = what->requested_bytes;
    model->slack_bytes += what->align_bytes - block->align_bytes;
    block->align_bytes = what->align_bytes;
    block->kind = (uint8_t)what->kind;
    block->tag = what->tag;
    model_count_tag(model, block);
    op_index_add(&model->slots, model->blocks, slot);
    return slot;
}
