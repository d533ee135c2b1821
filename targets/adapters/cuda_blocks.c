#include "targets/adapters/private/cuda.h"

#include <string.h>

enum { HANDLE_BITS = 32 };

void *cuda_host_alloc(struct target_instance *instance, size_t bytes)
{
    return instance->device.host_alloc(instance->device.context, bytes);
}

void cuda_host_free(struct target_instance *instance, void *memory, size_t bytes)
{
    if (memory != NULL) {
        instance->device.host_free(instance->device.context, memory, bytes);
    }
}

/* --- slots --- */

static bool grow_slots(struct target_instance *instance)
{
    const uint32_t capacity = instance->slot_capacity == 0 ? 16 : 2 * instance->slot_capacity;
    struct cuda_slot *grown = cuda_host_alloc(instance, capacity * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    memset(grown, 0, capacity * sizeof *grown);
    if (instance->slots != NULL) {
        memcpy(grown, instance->slots, instance->slot_count * sizeof *grown);
    }
    cuda_host_free(instance, instance->slots, instance->slot_capacity * sizeof *grown);
    instance->slots = grown;
    instance->slot_capacity = capacity;
    return true;
}

static bool take_slot(struct target_instance *instance, struct cuda_block *block)
{
    uint32_t index = instance->slot_free;
    if (index == CUDA_SLOT_NONE) {
        if (instance->slot_count == instance->slot_capacity && !grow_slots(instance)) {
            return false;
        }
        index = instance->slot_count++;
    } else {
        instance->slot_free = instance->slots[index].next_free;
    }
    struct cuda_slot *const slot = &instance->slots[index];
    slot->block = block;
    block->handle = (uint64_t)++slot->name_count << HANDLE_BITS | index;
    return true;
}

void cuda_block_forget(struct target_instance *instance, const struct cuda_block *block)
{
    const uint32_t index = (uint32_t)block->handle;
    instance->slots[index].block = NULL;
    instance->slots[index].next_free = instance->slot_free;
    instance->slot_free = index;
}

struct cuda_block *cuda_block_find(const struct target_instance *instance, uint64_t handle)
{
    const uint32_t index = (uint32_t)handle;
    struct cuda_block *const block = index < instance->slot_count ? instance->slots[index].block
                                                                  : NULL;
    return block != NULL && block->handle == handle ? block : NULL;
}

/* --- records --- */

static void free_use(struct target_instance *instance, const struct cuda_block *block,
                     struct cuda_use *use)
{
    if (use != &block->free_event && use != &block->stream_event) {
        cuda_host_free(instance, use, sizeof *use);
    }
}

void cuda_block_destroy(struct target_instance *instance, struct cuda_block *block)
{
    while (block->uses != NULL) {
        struct cuda_use *const use = block->uses;
        block->uses = use->next;
        free_use(instance, block, use);
    }
    cuda_host_free(instance, block->wait, sizeof *block->wait);
    cuda_host_free(instance, block, sizeof *block);
}

struct cuda_block *cuda_block_create(struct target_instance *instance, uint32_t stream)
{
    struct cuda_block *const block = cuda_host_alloc(instance, sizeof *block);
    if (block == NULL) {
        return NULL;
    }
    *block = (struct cuda_block){.stream = stream,
                                 .wait = cuda_host_alloc(instance, sizeof *block->wait)};
    if (block->wait == NULL || !take_slot(instance, block)) {
        cuda_block_destroy(instance, block);
        return NULL;
    }
    return block;
}

/* --- uses --- */

bool cuda_is_done(const struct target_instance *instance, uint64_t event)
{
    return event == 0 || instance->device.event_done(instance->device.context, event);
}

void cuda_block_use(struct cuda_block *block, uint64_t event, struct cuda_use *use)
{
    *use = (struct cuda_use){.next = block->uses, .event = event};
    block->uses = use;
}

void cuda_block_end_uses(struct target_instance *instance, struct cuda_block *block)
{
    for (struct cuda_use **link = &block->uses; *link != NULL;) {
        struct cuda_use *const use = *link;
        if (cuda_is_done(instance, use->event)) {
            *link = use->next;
            free_use(instance, block, use);
        } else {
            link = &use->next;
        }
    }
}
