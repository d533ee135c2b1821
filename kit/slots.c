/* Handles. */
#include "kit/private/instance.h"

#include <string.h>

enum { SLOT_COUNT_FIRST = 64, HANDLE_SHIFT = 32 };

static uint64_t handle_of(const struct target_instance *instance, uint32_t index)
{
    return (uint64_t)instance->slots[index].name_count << HANDLE_SHIFT | (index + UINT64_C(1));
}

static uint32_t index_of(uint64_t handle)
{
    return (uint32_t)handle - 1;
}

static bool grow_slots(struct target_instance *instance)
{
    const uint32_t count = instance->slot_capacity;
    const uint32_t wanted = count == 0 ? SLOT_COUNT_FIRST : count * 2;
    struct kit_slot *slots = kit_host_alloc(&instance->host, wanted * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    if (count > 0) {
        memcpy(slots, instance->slots, count * sizeof *slots);
    }
    kit_host_free(&instance->host, instance->slots, count * sizeof *slots);
    instance->slots = slots;
    instance->slot_capacity = wanted;
    return true;
}

bool kit_slot_take(struct target_instance *instance, struct kit_block *block)
{
    uint32_t index = instance->slot_free;
    if (index != KIT_SLOT_NONE) {
        instance->slot_free = instance->slots[index].next_free;
    } else if (instance->slot_count < instance->slot_capacity || grow_slots(instance)) {
        index = instance->slot_count++;
        instance->slots[index] = (struct kit_slot){0};
    } else {
        return false;
    }
    instance->slots[index].block = block;
    block->at.handle = handle_of(instance, index);
    return true;
}

void kit_slot_rename(struct target_instance *instance, struct kit_block *block)
{
    const uint32_t index = index_of(block->at.handle);
    instance->slots[index].name_count++;
    block->at.handle = handle_of(instance, index);
}

void kit_slot_give(struct target_instance *instance, const struct kit_block *block)
{
    const uint32_t index = index_of(block->at.handle);
    struct kit_slot *slot = &instance->slots[index];
    slot->block = NULL;
    slot->name_count++;
    slot->next_free = instance->slot_free;
    instance->slot_free = index;
}

struct kit_block *kit_slot_find(const struct target_instance *instance, uint64_t handle)
{
    const uint32_t index = index_of(handle);
    if (index >= instance->slot_count || handle != handle_of(instance, index)) {
        return NULL;
    }
    return instance->slots[index].block;
}
