#include "targets/threaded/calls.h"

void threaded_call_stats(struct target_instance *instance, struct target_stats *stats)
{
    struct threaded_heap *heap = &instance->heap;
    threaded_enter(heap, CALL_PLAIN);
    threaded_settle(heap);
    *stats = heap->stats;
    stats->bytes_reserved = heap->reserved_bytes;
    stats->largest_free_block_bytes = threaded_largest_hole_bytes(heap);
    threaded_leave(heap);
}

/* The next smaller size than limit; 0: there is none. */
static uint64_t find_next_size(const struct threaded_heap *heap, uint64_t limit)
{
    uint64_t size = 0;
    for (const struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
        size = node->size_bytes < limit && node->size_bytes > size ? node->size_bytes : size;
    }
    return size;
}

/* Largest first without memory to sort in: each pass finds the next smaller size.  O(sizes *
 * blocks). */
void threaded_call_report(struct target_instance *instance,
                          void (*row)(void *context, const struct target_row *row), void *context)
{
    struct threaded_heap *heap = &instance->heap;
    threaded_enter(heap, CALL_PLAIN);
    threaded_settle(heap);
    while (heap->marked_count > 0) {
        (void)pthread_cond_wait(&heap->finished, &heap->lock);
    }
    for (uint64_t size = find_next_size(heap, UINT64_MAX); size > 0;
         size = find_next_size(heap, size)) {
        for (const struct threaded_node *node = heap->highest; node != NULL; node = node->below) {
            if (node->size_bytes == size) {
                row(context, &(struct target_row){node->address, size, node->kind, node->tag});
            }
        }
    }
    threaded_leave(heap);
}
