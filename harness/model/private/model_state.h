/* The state of a model, as model_*.c share it: its life and what it says of itself (model_state.c),
 * blocks (model_blocks.c) and their places (model_places.c), events and what waits for them
 * (model_events.c), memory that is kept (model_kept.c), counters (model_counters.c), holes
 * (model_holes.c), windows (model_windows.c) and invariants (model_invariants.c). */
#ifndef HARNESS_MODEL_PRIVATE_MODEL_STATE_H
#define HARNESS_MODEL_PRIVATE_MODEL_STATE_H

#include "harness/base/array.h"
#include "harness/base/number_map.h"
#include "harness/device/span_map.h"
#include "harness/model/model_update.h"
#include "harness/model/private/free_map.h"
#include "harness/model/private/op_index.h"

#include <string.h>

/* A thing that an event ends: one node per use, execution or wait. */
struct event_waiter {
    uint32_t slot;
    uint32_t next;        /* of the same event; SLOT_NONE ends */
    bool is_use, is_away; /* the event is on another stream than the block */
};
struct waiter_lists {
    struct number_map heads; /* by the op of the event: the first node of those that wait */
    struct event_waiter *nodes;
    size_t node_count, node_capacity;
    uint32_t free_node;
};
struct slot_list {
    uint32_t *slots;
    size_t count, capacity;
};

struct model {
    struct model_counters counters; /* first: model_counters() */
    struct target_contract contract;
    const struct timeline *timeline;
    struct block *blocks; /* by slot */
    size_t block_count, block_capacity;
    struct slot_list free_slots;
    struct op_index slots; /* of blocks that are there or kept */
    struct span_map map;
    struct slot_list live, programs, dying, busy, absent, kept;
    struct slot_list recordings; /* no slots: OP_RECORDs that ended */
    uint32_t open_recording;
    struct waiter_lists waiters;
    uint64_t retired_count, retired_bytes;
    uint64_t tag_bytes[OP_TAG_COUNT], tag_counts[OP_TAG_COUNT];
    struct model_gone *gone;
    size_t gone_count, gone_capacity;
    struct device_region *regions; /* region_count of them, as model_regions() has them */
    size_t region_count, region_capacity;
    uint64_t largest_hole_bytes, hole_count; /* valid when holes_known */
    struct free_map free_map;                /* what no live block takes */
    uint64_t pin_count;                      /* holds and unfinished uses, of all blocks */
    uint64_t slack_bytes;                    /* alignments of all blocks, beyond the granule */
    uint64_t in_use_before_bytes; /* after this host's last op, for the peak's upper bound */
    uint64_t completed_count;     /* completed events of the timeline that this model took in */
    enum target_result last_result;
    uint32_t last_op, op;
    bool last_skipped, holes_known, is_unordered, is_asleep;
};

/* --- lists --- */

static inline void slot_list_add(struct slot_list *list, uint32_t slot)
{
    CHECK(slot != SLOT_NONE);
    list->slots = array_grown(list->slots, list->count, &list->capacity, sizeof slot);
    list->slots[list->count++] = slot;
}

/* Takes the slot out of a list without an order, in which it is. */
static inline void slot_list_take(struct slot_list *list, uint32_t slot)
{
    size_t i = 0;
    CHECK(list->count > 0);
    while (list->slots[i] != slot) {
        i++;
        CHECK(i < list->count);
    }
    list->slots[i] = list->slots[--list->count];
}

static inline uint32_t slot_list_at(const struct slot_list *list, size_t index)
{
    CHECK(index < list->count);
    return list->slots[index];
}

static inline void raise_to(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

/* Returns the bytes that the block has by its contract; what it has beyond that counts as free. */
static inline uint64_t model_judged_bytes(const struct block *block)
{
    return block->size_bytes < block->promised_bytes ? block->size_bytes : block->promised_bytes;
}

static inline uint64_t lower_of(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* The live block has its place, or has it no more.  While calls overlap a target may put it where
 * no device is. */
static inline void model_note_live(struct model *model, const struct block *block, bool is_taken)
{
    const uint64_t capacity = model->counters.capacity_bytes;
    if (model->free_map.change_limit != 0) {
        free_map_note(&model->free_map, lower_of(block->address, capacity),
                      lower_of(block->address + model_judged_bytes(block), capacity), is_taken);
    }
}

/* --- what the parts do for each other --- */

/* A dying block with nothing left to wait for gives its room back; a kept one is forgotten. */
void model_settle(struct model *model, uint32_t slot);

/* The block gives its place back, or its copy in host memory. */
void model_displace(struct model *model, uint32_t slot);

/* True at the instant that the model shows: what completed later is not done yet. */
bool model_is_pending(const struct model *model, uint64_t event);
/* True if nothing that a freed block waits for hinders those who may have its memory. */
bool model_has_ended(const struct model *model, const struct block *block);

/* The block waits for the event, which is pending, or is used until then. */
void model_await(struct model *model, uint32_t slot, uint64_t event, bool is_use);

/* The busy programs are other ones. */
void model_count_reserved(struct model *model);

#endif
