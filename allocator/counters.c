#include "allocator/private/counters.h"

uint64_t hbm_reservable(const struct hbm *hbm)
{
    uint64_t movable_bytes = 0;
    const bool fixed = hbm->options.defrag == HBM_DEFRAG_NONE;
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, hbm->heap.stack);
    while (block->next != HBM_POOL_NONE) {
        block = hbm_heap_at(&hbm->heap, block->next);
        if (block->role == HBM_ROLE_HOLE) {
            continue;
        }
        if (fixed || !hbm_block_is_movable(block)) {
            return block->address - movable_bytes;
        }
        movable_bytes += block->size_bytes;
    }
    return hbm->options.capacity_bytes - movable_bytes;
}
