/* Events that blocks wait for. */
#include "kit/private/instance.h"

void kit_pending_add(struct target_instance *instance, struct kit_block *block, uint64_t event,
                     struct kit_pending *pending)
{
    *pending = (struct kit_pending){.link = instance->pending_end, .block = block, .event = event};
    *instance->pending_end = pending;
    instance->pending_end = &pending->next;
    block->pending_count++;
}

void kit_pending_end(struct target_instance *instance, struct kit_pending *pending)
{
    struct kit_block *block = pending->block;
    *pending->link = pending->next;
    if (pending->next != NULL) {
        pending->next->link = pending->link;
    } else {
        instance->pending_end = pending->link;
    }
    block->pending_count--;
    block->lost_count -= pending->is_lost;
    if (pending != &block->free_event) {
        kit_host_free(&instance->host, pending, sizeof *pending);
    }
}

static void look_at_all(struct target_instance *instance)
{
    const struct device_services *device = &instance->device;
    for (struct kit_pending *pending = instance->pending, *next; pending != NULL; pending = next) {
        struct kit_block *block = pending->block;
        next = pending->next;
        if (device->event_done(device->context, pending->event)) {
            kit_pending_end(instance, pending);
            kit_block_settle(instance, block);
        }
    }
}

/* The count is read before the events: what completes behind the look makes it differ. */
void kit_pending_settle(struct target_instance *instance)
{
    const struct device_services *device = &instance->device;
    for (;;) {
        const uint64_t completed = device->completed_count(device->context);
        if (completed == instance->completed_seen) {
            return;
        }
        look_at_all(instance);
        instance->completed_seen = completed;
    }
}

static bool is_awaitable(const struct kit_pending *pending)
{
    const struct kit_block *block = pending->block;
    return block->is_freed && block->hold_count == 0 && block->lost_count == 0;
}

enum target_result kit_pending_await(struct target_instance *instance)
{
    const struct device_services *device = &instance->device;
    struct kit_pending *pending = instance->pending;
    while (pending != NULL && !is_awaitable(pending)) {
        pending = pending->next;
    }
    if (pending == NULL) {
        return TARGET_NO_MEMORY;
    }
    const enum device_result result = device->event_wait(device->context, pending->event);
    if (result == DEVICE_LOST) {
        pending->is_lost = true;
        pending->block->lost_count++;
    }
    return result == DEVICE_REFUSED ? TARGET_FAILED : TARGET_OK;
}
