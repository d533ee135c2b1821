#include "targets/private/first_fit_heap.h"

static void host_free(struct first_fit_heap *heap, void *memory, size_t bytes)
{
    heap->device.host_free(heap->device.context, memory, bytes);
}

void first_fit_drop(struct first_fit_heap *heap, struct first_fit_node *node)
{
    while (node->waits != NULL) {
        struct first_fit_wait *wait = node->waits;
        node->waits = wait->next;
        host_free(heap, wait, sizeof *wait);
        heap->wait_count--;
    }
    host_free(heap, node, sizeof *node);
}

void first_fit_clear(struct first_fit_heap *heap)
{
    while (heap->highest != NULL) {
        struct first_fit_node *node = heap->highest;
        heap->highest = node->below;
        first_fit_drop(heap, node);
    }
    while (heap->evicted != NULL) {
        struct first_fit_node *node = heap->evicted;
        heap->evicted = node->below;
        first_fit_drop(heap, node);
    }
}

uint64_t first_fit_free_bytes(const struct first_fit_heap *heap)
{
    return heap->capacity_bytes - heap->stats.bytes_in_use - heap->reserved_bytes;
}

uint64_t first_fit_largest_hole_bytes(const struct first_fit_heap *heap)
{
    uint64_t largest = 0;
    uint64_t top = heap->capacity_bytes;
    for (const struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        const uint64_t end = node->address + node->size_bytes;
        largest = top - end > largest ? top - end : largest;
        top = node->address;
    }
    return top - heap->reserved_bytes > largest ? top - heap->reserved_bytes : largest;
}

uint64_t first_fit_reservable_bytes(const struct first_fit_heap *heap)
{
    uint64_t lowest = heap->capacity_bytes;
    for (const struct first_fit_node *node = heap->highest; node != NULL; node = node->below) {
        lowest = node->address;
    }
    return lowest;
}

void first_fit_unlink(struct first_fit_heap *heap, struct first_fit_node *node)
{
    *(node->above != NULL ? &node->above->below : &heap->highest) = node->below;
    if (node->below != NULL) {
        node->below->above = node->above;
    }
    heap->stats.num_allocs--;
    heap->stats.bytes_in_use -= node->size_bytes;
}

void first_fit_poll(struct first_fit_heap *heap, struct first_fit_node *node)
{
    for (struct first_fit_wait **link = &node->waits; *link != NULL;) {
        struct first_fit_wait *wait = *link;
        if (!heap->device.event_done(heap->device.context, wait->event)) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        host_free(heap, wait, sizeof *wait);
        heap->wait_count--;
    }
}

void first_fit_settle(struct first_fit_heap *heap, struct first_fit_node *node)
{
    if (node->is_dying && node->waits == NULL && node->hold_count == 0) {
        first_fit_unlink(heap, node);
        first_fit_drop(heap, node);
    }
}

void first_fit_collect(struct first_fit_heap *heap)
{
    const uint64_t completed = heap->device.completed_count(heap->device.context);
    if (heap->wait_count == 0 || completed == heap->completed_count) {
        heap->completed_count = completed;
        return;
    }
    heap->completed_count = completed;
    heap->reserved_bytes = 0;
    struct first_fit_node *below = NULL;
    for (struct first_fit_node *node = heap->highest; node != NULL; node = below) {
        below = node->below;
        first_fit_poll(heap, node);
        if (node->kind == BLOCK_PROGRAM && node->waits != NULL &&
            node->stack_bytes > heap->reserved_bytes) {
            heap->reserved_bytes = node->stack_bytes;
        }
        first_fit_settle(heap, node);
    }
}

bool first_fit_add_wait(struct first_fit_heap *heap, struct first_fit_node *node, uint64_t event)
{
    if (event == 0 || heap->device.event_done(heap->device.context, event)) {
        return true;
    }
    struct first_fit_wait *wait = heap->device.host_alloc(heap->device.context, sizeof *wait);
    if (wait == NULL) {
        return false;
    }
    *wait = (struct first_fit_wait){.next = node->waits, .event = event};
    node->waits = wait;
    heap->wait_count++;
    return true;
}

bool first_fit_find_place(const struct first_fit_heap *heap, const struct first_fit_wanted *wanted,
                          uint64_t *address, struct first_fit_node **above)
{
    const uint64_t size = wanted->size_bytes;
    const uint64_t floor = wanted->floor_bytes;
    const uint64_t header = wanted->header_bytes;
    uint64_t top = heap->capacity_bytes;
    *above = NULL;
    for (struct first_fit_node *node = heap->highest;; node = node->below) {
        const uint64_t end = node == NULL ? 0 : node->address + node->size_bytes;
        const uint64_t bottom = end > floor ? end : floor;
        const uint64_t aligned = size <= top ? (top - size + header) & ~(wanted->align_bytes - 1)
                                             : 0;
        if (size <= top && aligned >= header + bottom) {
            *address = aligned - header;
            return true;
        }
        if (node == NULL || node->address <= floor) {
            return false;
        }
        top = node->address;
        *above = node;
    }
}

void first_fit_link(struct first_fit_heap *heap, struct first_fit_node *node,
                    struct first_fit_node *above)
{
    struct target_stats *stats = &heap->stats;
    node->above = above;
    node->below = above != NULL ? above->below : heap->highest;
    *(above != NULL ? &above->below : &heap->highest) = node;
    if (node->below != NULL) {
        node->below->above = node;
    }
    stats->num_allocs++;
    stats->bytes_in_use += node->size_bytes;
    stats->peak_bytes_in_use = stats->bytes_in_use > stats->peak_bytes_in_use
                                   ? stats->bytes_in_use
                                   : stats->peak_bytes_in_use;
    stats->largest_alloc_size = node->size_bytes > stats->largest_alloc_size
                                    ? node->size_bytes
                                    : stats->largest_alloc_size;
}

struct first_fit_node *first_fit_add(struct first_fit_heap *heap, const struct first_fit_node *like,
                                     uint64_t address, struct first_fit_node *above)
{
    struct first_fit_node *node = heap->device.host_alloc(heap->device.context, sizeof *node);
    if (node == NULL) {
        return NULL;
    }
    *node = *like;
    node->address = address;
    first_fit_link(heap, node, above);
    return node;
}

enum target_result first_fit_place(struct first_fit_heap *heap,
                                   const struct first_fit_wanted *wanted,
                                   struct first_fit_node **out)
{
    uint64_t address = 0;
    struct first_fit_node *above = NULL;
    if (!first_fit_find_place(heap, wanted, &address, &above)) {
        return TARGET_NO_MEMORY;
    }
    struct first_fit_node like = wanted->like;
    like.size_bytes = wanted->size_bytes;
    struct first_fit_node *node = first_fit_add(heap, &like, address, above);
    if (node == NULL) {
        return TARGET_FAILED;
    }
    *out = node;
    return TARGET_OK;
}

uint64_t first_fit_in_granules(const struct first_fit_heap *heap, uint64_t bytes)
{
    const uint64_t granule = heap->granule_bytes;
    return (bytes + (granule - 1)) & ~(granule - 1);
}
