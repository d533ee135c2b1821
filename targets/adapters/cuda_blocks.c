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

/* --- frees --- */

/* True if the block must be kept until some of its uses have ended: another stream works on it, or
 * its own cannot wait.  *last: the last event of its own stream, 0 = none. */
static bool must_be_kept(const struct target_instance *instance, const struct cuda_block *block,
                         uint64_t *last)
{
    const struct device_services *const device = &instance->device;
    const struct cuda_pool *const pool = &instance->pool;
    bool is_elsewhere = false;
    *last = 0;
    for (const struct cuda_use *use = block->uses; use != NULL; use = use->next) {
        if (device->event_stream(device->context, use->event) != block->stream) {
            is_elsewhere = true;
        } else if (use->event > *last) {
            *last = use->event;
        }
    }
    return is_elsewhere || (*last != 0 && !cuda_pool_may_wait(pool, block->stream));
}

/* The end of a block whose unfinished uses, up to the event `last`, are all on its stream. */
static void free_in_order(struct target_instance *instance, struct cuda_block *block, uint64_t last)
{
    struct cuda_pool *const pool = &instance->pool;
    const struct cuda_queue *const queue = &pool->queues[block->stream];
    const bool is_behind = queue->first != NULL && queue->first->value <= block->behind;
    if (last != 0 && cuda_pool_wait(pool, block->stream, last, block->wait)) {
        block->wait = NULL;
    }
    if (last == 0 && queue->first != NULL && !is_behind) {
        cuda_pool_free_now(pool, block->address);
    } else {
        cuda_pool_free(pool, block->stream, block->address);
    }
    cuda_block_destroy(instance, block);
}

/* Ends the waits that are over, or all of them. */
static void pass_waits(struct target_instance *instance, bool all)
{
    for (uint32_t i = 0; i < CUDA_QUEUE_COUNT; i++) {
        const struct cuda_queue *const queue = &instance->pool.queues[i];
        while (queue->first != NULL && (all || cuda_is_done(instance, queue->first->event))) {
            struct cuda_wait *const over = cuda_pool_pass(&instance->pool, i);
            cuda_host_free(instance, over, sizeof *over);
        }
    }
}

static void free_kept(struct target_instance *instance)
{
    for (struct cuda_block **link = &instance->kept; *link != NULL;) {
        struct cuda_block *const block = *link;
        uint64_t last = 0;
        cuda_block_end_uses(instance, block);
        if (must_be_kept(instance, block, &last)) {
            link = &block->next_kept;
            continue;
        }
        *link = block->next_kept;
        free_in_order(instance, block, last);
    }
}

void cuda_free_block(struct target_instance *instance, struct cuda_block *block)
{
    uint64_t last = 0;
    cuda_block_end_uses(instance, block);
    if (must_be_kept(instance, block, &last)) {
        block->next_kept = instance->kept;
        instance->kept = block;
    } else {
        free_in_order(instance, block, last);
    }
}

void cuda_settle(struct target_instance *instance)
{
    const struct device_services *const device = &instance->device;
    for (;;) {
        const uint64_t completed = device->completed_count(device->context);
        if (completed == instance->completed_seen) {
            return;
        }
        pass_waits(instance, false);
        free_kept(instance);
        instance->completed_seen = completed;
    }
}

/* --- drains --- */

/* Awaits the waits of a stream in their order, up to one that no waiting completes.  false: the
 * device refused. */
static bool await_stream(struct target_instance *instance, uint32_t index)
{
    const struct device_services *const device = &instance->device;
    const struct cuda_queue *const queue = &instance->pool.queues[index];
    while (queue->first != NULL) {
        const uint64_t event = queue->first->event;
        const enum device_result result = device->event_wait(device->context, event);
        cuda_settle(instance);
        if (result != DEVICE_OK || (queue->first != NULL && queue->first->event == event)) {
            return result != DEVICE_REFUSED;
        }
    }
    return true;
}

/* An unfinished use of a kept block; NULL: all of them were awaited. */
static struct cuda_use *find_awaitable(const struct target_instance *instance)
{
    for (struct cuda_block *block = instance->kept; block != NULL; block = block->next_kept) {
        for (struct cuda_use *use = block->uses; use != NULL; use = use->next) {
            if (!use->was_awaited) {
                return use;
            }
        }
    }
    return NULL;
}

static bool await_kept(struct target_instance *instance)
{
    const struct device_services *const device = &instance->device;
    for (struct cuda_use *use; (use = find_awaitable(instance)) != NULL;) {
        use->was_awaited = true;
        const enum device_result result = device->event_wait(device->context, use->event);
        cuda_settle(instance);
        if (result == DEVICE_REFUSED) {
            return false;
        }
    }
    return true;
}

bool cuda_drain(struct target_instance *instance)
{
    for (struct cuda_block *block = instance->kept; block != NULL; block = block->next_kept) {
        for (struct cuda_use *use = block->uses; use != NULL; use = use->next) {
            use->was_awaited = false;
        }
    }
    bool is_drained = await_kept(instance); /* first: what it ends may be behind a wait */
    for (uint32_t i = 0; i < CUDA_QUEUE_COUNT; i++) {
        is_drained = await_stream(instance, i) && is_drained;
    }
    return is_drained;
}

/* --- the end --- */

void cuda_free_all(struct target_instance *instance)
{
    pass_waits(instance, true);
    while (instance->kept != NULL) {
        struct cuda_block *const block = instance->kept;
        instance->kept = block->next_kept;
        free_in_order(instance, block, 0);
    }
    for (uint32_t i = 0; i < instance->slot_count; i++) {
        if (instance->slots[i].block != NULL) {
            free_in_order(instance, instance->slots[i].block, 0);
        }
    }
}
