#include "targets/threaded/heap.h"

#include "harness/base/align.h"

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
