#include "targets/private/first_fit_steps.h"

void first_fit_begin_steps(struct first_fit_heap *heap)
{
    heap->call_count++;
}

/* --- queued frees --- */

/* Returns the pending event that keeps the dying block where it is; NULL: waiting cannot end it. */
static struct first_fit_wait *find_wait(const struct first_fit_heap *heap,
                                        const struct first_fit_node *node)
{
    if (!node->is_dying || node->hold_count > 0) {
        return NULL;
    }
    for (const struct first_fit_wait *wait = node->waits; wait != NULL; wait = wait->next) {
        if (wait->vain_in_call == heap->call_count) {
            return NULL;
        }
    }
    return node->waits;
}

static bool drain_one(struct first_fit_heap *heap)
{
    for (struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        struct first_fit_wait *wait = find_wait(heap, node);
        if (wait == NULL) {
            continue;
        }
        if (heap->device.event_wait(heap->device.context, wait->event) == DEVICE_OK) {
            return true;
        }
        wait->vain_in_call = heap->call_count;
    }
    return false;
}

/* --- programs --- */

static bool is_evictable(const struct first_fit_heap *heap, const struct first_fit_node *node)
{
    return node->kind == BLOCK_PROGRAM && !node->is_dying && node->waits == NULL &&
           node->vain_in_call != heap->call_count;
}

static bool evict_one(struct first_fit_heap *heap)
{
    for (struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        if (!is_evictable(heap, node)) {
            continue;
        }
        if (heap->device.unload(heap->device.context, node->program) == DEVICE_OK) {
            first_fit_unlink(heap, node);
            node->above = NULL;
            node->below = heap->evicted;
            node->is_evicted = true;
            heap->evicted = node;
            return true;
        }
        node->vain_in_call = heap->call_count;
    }
    return false;
}

/* Any call of the device may take time, in which events complete. */
bool first_fit_step(struct first_fit_heap *heap, bool may_evict)
{
    const uint64_t completed = heap->completed_count;
    const bool has_stepped = drain_one(heap) || (may_evict && evict_one(heap));
    first_fit_collect(heap);
    return has_stepped || heap->completed_count != completed;
}

static void take_from_evicted(struct first_fit_heap *heap, struct first_fit_node *program)
{
    struct first_fit_node **link = &heap->evicted;
    while (*link != program) {
        link = &(*link)->below;
    }
    *link = program->below;
    program->below = NULL;
    program->is_evicted = false;
}

bool first_fit_bring_back(struct first_fit_heap *heap, struct first_fit_node *program,
                          uint64_t event, uint64_t address, struct first_fit_node *above)
{
    if (!first_fit_add_wait(heap, program, event)) {
        return false;
    }
    take_from_evicted(heap, program);
    program->address = address;
    first_fit_link(heap, program, above);
    return true;
}

void first_fit_forget(struct first_fit_heap *heap, struct first_fit_node *program)
{
    take_from_evicted(heap, program);
    first_fit_drop(heap, program);
}
