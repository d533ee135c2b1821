#include "targets/threaded/heap.h"

#include "harness/base/align.h"

/* --- the mutex --- */

void threaded_enter(struct threaded_heap *heap, enum threaded_call call)
{
    /* A free takes the second mutex with the first in its hands, a request the first with the
     * second. */
    const bool is_inverted = heap->race == RACE_LOCK_ORDER && call != CALL_PLAIN;
    if (is_inverted && call == CALL_REQUEST) {
        (void)pthread_mutex_lock(&heap->queue_lock);
    }
    (void)pthread_mutex_lock(&heap->lock);
    if (is_inverted && call == CALL_FREE) {
        (void)pthread_mutex_lock(&heap->queue_lock);
    }
    if (is_inverted) {
        (void)pthread_mutex_unlock(&heap->queue_lock);
    }
}

void threaded_leave(struct threaded_heap *heap)
{
    (void)pthread_mutex_unlock(&heap->lock);
}

void threaded_relax(struct threaded_heap *heap)
{
    (void)pthread_mutex_unlock(&heap->lock);
    (void)pthread_mutex_lock(&heap->lock);
}

void threaded_await(struct threaded_heap *heap, const struct threaded_node *node)
{
    while (node->is_moving || node->is_evicting) {
        (void)pthread_cond_wait(&heap->finished, &heap->lock);
    }
}

/* --- host memory --- */

static void host_free(struct threaded_heap *heap, void *memory, size_t bytes)
{
    heap->device.host_free(heap->device.context, memory, bytes);
}

static void drop_wait(struct threaded_heap *heap, struct threaded_wait **link)
{
    struct threaded_wait *wait = *link;
    *link = wait->next;
    heap->wait_count--;
    host_free(heap, wait, sizeof *wait);
}

static struct threaded_node *take_spare(struct threaded_heap *heap)
{
    struct threaded_node *node = heap->spare;
    if (node == NULL) {
        return heap->device.host_alloc(heap->device.context, sizeof *node);
    }
    heap->spare = node->below;
    return node;
}

static void make_spare(struct threaded_heap *heap, struct threaded_node *node)
{
    while (node->waits != NULL) {
        drop_wait(heap, &node->waits);
    }
    *node = (struct threaded_node){.below = heap->spare};
    heap->spare = node;
}

static void clear_list(struct threaded_heap *heap, struct threaded_node *node)
{
    while (node != NULL) {
        struct threaded_node *below = node->below;
        while (node->waits != NULL) {
            drop_wait(heap, &node->waits);
        }
        host_free(heap, node, sizeof *node);
        node = below;
    }
}

void threaded_clear(struct threaded_heap *heap)
{
    clear_list(heap, heap->highest);
    clear_list(heap, heap->evicted);
    clear_list(heap, heap->spare);
}

/* --- the list --- */

/* Into the list, below all that begins higher. */
static void link_node(struct threaded_heap *heap, struct threaded_node *node)
{
    struct threaded_node *above = NULL;
    struct threaded_node *below = heap->highest;
    while (below != NULL && threaded_start(below) > node->address) {
        above = below;
        below = below->below;
    }
    node->above = above;
    node->below = below;
    *(above != NULL ? &above->below : &heap->highest) = node;
    *(below != NULL ? &below->above : &heap->lowest) = node;
}

static void unlink_node(struct threaded_heap *heap, struct threaded_node *node)
{
    *(node->above != NULL ? &node->above->below : &heap->highest) = node->below;
    *(node->below != NULL ? &node->below->above : &heap->lowest) = node->above;
    node->below = node->above = NULL;
}

void threaded_count_released(struct threaded_heap *heap, uint64_t size_bytes)
{
    heap->stats.num_allocs--;
    heap->stats.bytes_in_use -= size_bytes;
}

enum target_result threaded_place(struct threaded_heap *heap, const struct threaded_node *like,
                                  struct threaded_node **out)
{
    struct threaded_node *node = take_spare(heap);
    if (node == NULL) {
        return TARGET_FAILED;
    }
    *node = *like;
    node->to_address = node->address;
    node->serial = ++heap->serial;
    if (heap->race == RACE_LIMIT_CHECKED) {
        threaded_relax(heap);
    }
    if (heap->race == RACE_PUBLISHED_EARLY) {
        node->size_bytes = 0;
        link_node(heap, node);
        threaded_relax(heap);
        node->size_bytes = like->size_bytes;
    } else {
        link_node(heap, node);
    }
    node->state = NODE_LIVE;
    count_block(&heap->stats, node->size_bytes);
    *out = node;
    return TARGET_OK;
}

static void leave_list(struct threaded_node **link, const struct threaded_node *node)
{
    while (*link != NULL && *link != node) {
        link = &(*link)->below;
    }
    if (*link != NULL) {
        *link = node->below;
    }
}

void threaded_reload(struct threaded_heap *heap, struct threaded_node *node, uint64_t address)
{
    leave_list(&heap->evicted, node);
    node->address = node->to_address = address;
    node->state = NODE_LIVE;
    link_node(heap, node);
    count_block(&heap->stats, node->size_bytes);
}

void threaded_evict(struct threaded_heap *heap, struct threaded_node *node)
{
    unlink_node(heap, node);
    threaded_count_released(heap, node->size_bytes);
    node->state = NODE_EVICTED;
    node->below = heap->evicted;
    heap->evicted = node;
}

static void leave_queue(struct threaded_heap *heap, const struct threaded_node *node)
{
    struct threaded_node **link = &heap->queued;
    while (*link != NULL && *link != node) {
        link = &(*link)->next_queued;
    }
    if (*link != NULL) {
        *link = node->next_queued;
    }
}

void threaded_release(struct threaded_heap *heap, struct threaded_node *node)
{
    if (node->state == NODE_EVICTED) {
        leave_list(&heap->evicted, node);
    } else {
        leave_queue(heap, node);
        unlink_node(heap, node);
        threaded_count_released(heap, node->size_bytes);
    }
    make_spare(heap, node);
}

void threaded_free(struct threaded_heap *heap, struct threaded_node *node)
{
    if (node->state == NODE_EVICTED || (node->waits == NULL && node->hold_count == 0)) {
        threaded_release(heap, node);
        return;
    }
    struct threaded_node **end = &heap->queued;
    while (*end != NULL) {
        end = &(*end)->next_queued;
    }
    *end = node;
    node->next_queued = NULL;
    node->state = NODE_DYING;
}

/* --- what the device has finished --- */

void threaded_poll(struct threaded_heap *heap, struct threaded_node *node)
{
    for (struct threaded_wait **link = &node->waits; *link != NULL;) {
        if (heap->device.event_done(heap->device.context, (*link)->event)) {
            drop_wait(heap, link);
        } else {
            link = &(*link)->next;
        }
    }
}

void threaded_settle_queue(struct threaded_heap *heap)
{
    struct threaded_node *next = NULL;
    for (struct threaded_node *node = heap->queued; node != NULL; node = next) {
        next = node->next_queued;
        if (node->waits == NULL && node->hold_count == 0) {
            threaded_release(heap, node);
        }
    }
}

static void poll_all(struct threaded_heap *heap)
{
    heap->reserved_bytes = 0;
    for (struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
        threaded_poll(heap, node);
        if (node->waits != NULL && node->stack_bytes > heap->reserved_bytes) {
            heap->reserved_bytes = node->stack_bytes;
        }
    }
    threaded_settle_queue(heap);
}

/* Each round but the first two takes in one event at least, so there are no more rounds than waits,
 * and two. */
void threaded_settle(struct threaded_heap *heap)
{
    uint64_t completed = heap->device.completed_count(heap->device.context);
    while (completed != heap->completed_count) {
        heap->completed_count = completed;
        poll_all(heap);
        if (heap->wait_count > 0) {
            completed = heap->device.completed_count(heap->device.context);
        }
    }
}

bool threaded_add_wait(struct threaded_heap *heap, struct threaded_node *node, uint64_t event)
{
    if (event == 0 || heap->device.event_done(heap->device.context, event)) {
        return true;
    }
    struct threaded_wait *wait = heap->device.host_alloc(heap->device.context, sizeof *wait);
    if (wait == NULL) {
        return false;
    }
    *wait = (struct threaded_wait){.next = node->waits, .event = event};
    node->waits = wait;
    heap->wait_count++;
    return true;
}

uint64_t threaded_in_granules(const struct threaded_heap *heap, uint64_t bytes)
{
    return align_up(bytes, heap->granule_bytes);
}

/* True if the block's place is a hole; it is not until the device has taken the image away. */
static bool is_hole(const struct threaded_heap *heap, const struct threaded_node *node)
{
    return heap->race == RACE_MERGE_EVICTED && node->is_evicting;
}

bool threaded_find_hole(const struct threaded_heap *heap, uint64_t size_bytes, uint64_t align_bytes,
                        uint64_t floor_bytes, uint64_t *address)
{
    uint64_t top = heap->capacity_bytes;
    for (const struct threaded_node *node = heap->highest;; node = node->below) {
        if (node != NULL && is_hole(heap, node)) {
            continue;
        }
        const uint64_t end = node == NULL ? 0 : threaded_end(node);
        const uint64_t bottom = end > floor_bytes ? end : floor_bytes;
        if (size_bytes <= top && align_down(top - size_bytes, align_bytes) >= bottom) {
            *address = align_down(top - size_bytes, align_bytes);
            return true;
        }
        if (node == NULL) {
            return false;
        }
        top = threaded_start(node);
    }
}

uint64_t threaded_largest_hole_bytes(const struct threaded_heap *heap)
{
    uint64_t largest = 0;
    uint64_t top = heap->capacity_bytes;
    for (const struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
        const uint64_t end = threaded_end(node);
        largest = top > end && top - end > largest ? top - end : largest;
        top = threaded_start(node);
    }
    const uint64_t floor = heap->reserved_bytes;
    return top > floor && top - floor > largest ? top - floor : largest;
}
