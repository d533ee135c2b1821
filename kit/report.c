/* These calls report the blocks. */
#include "kit/private/instance.h"

void kit_stats(struct target_instance *instance, struct target_stats *stats)
{
    const struct kit_allocator *allocator = instance->allocator;
    kit_call_begin(instance);
    *stats = instance->stats;
    stats->largest_free_block_bytes = allocator->largest_free_bytes != NULL
                                          ? allocator->largest_free_bytes(instance->state)
                                          : kit_largest_gap(instance);
}

/* --- heap sort: in place, so that nothing can be refused --- */

/* True if a row of `a` comes after one of `b`: the largest first, then the lowest. */
static bool is_later(const struct kit_block *a, const struct kit_block *b)
{
    return a->at.size_bytes != b->at.size_bytes ? a->at.size_bytes < b->at.size_bytes
                                                : a->at.address > b->at.address;
}

static void swap_sorted(struct kit_slot *a, struct kit_slot *b)
{
    struct kit_block *block = a->sorted;
    a->sorted = b->sorted;
    b->sorted = block;
}

/* Makes the heap below `top` one with the latest on top. */
static void sink_sorted(struct kit_slot *slots, size_t top, size_t count)
{
    for (size_t below; (below = 2 * top + 1) < count; top = below) {
        if (below + 1 < count && is_later(slots[below + 1].sorted, slots[below].sorted)) {
            below++;
        }
        if (!is_later(slots[below].sorted, slots[top].sorted)) {
            return;
        }
        swap_sorted(&slots[below], &slots[top]);
    }
}

/* Returns how many slots are filled. */
static size_t sort_blocks(struct target_instance *instance)
{
    struct kit_slot *slots = instance->slots;
    size_t count = 0;
    for (uint32_t i = 0; i < instance->slot_count; i++) {
        if (slots[i].block != NULL) {
            slots[count++].sorted = slots[i].block;
        }
    }
    for (size_t top = count / 2; top > 0; top--) {
        sink_sorted(slots, top - 1, count);
    }
    for (size_t last = count; last > 1; last--) {
        swap_sorted(&slots[0], &slots[last - 1]);
        sink_sorted(slots, 0, last - 1);
    }
    return count;
}

void kit_report(struct target_instance *instance,
                void (*row)(void *context, const struct target_row *row), void *context)
{
    kit_call_begin(instance);
    const size_t count = sort_blocks(instance);
    for (size_t i = 0; i < count; i++) {
        const struct kit_block *block = instance->slots[i].sorted;
        const struct target_row made = {.address = block->at.address,
                                        .size_bytes = block->at.size_bytes,
                                        .kind = block->kind,
                                        .tag = block->tag};
        row(context, &made);
    }
}
