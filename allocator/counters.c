#include "allocator/private/counters.h"

#include "allocator/private/check.h"

void hbm_peaks_note(struct hbm *hbm)
{
    const uint64_t reserved_bytes = hbm_heap_reserved(&hbm->heap);
    HBM_CHECK(hbm->heap.used_bytes <= hbm->options.capacity_bytes - reserved_bytes);
    HBM_CHECK(reserved_bytes <= hbm->options.capacity_bytes);
    if (hbm->heap.used_bytes > hbm->totals.peak_bytes_in_use) {
        hbm->totals.peak_bytes_in_use = hbm->heap.used_bytes;
    }
    if (reserved_bytes > hbm->totals.peak_bytes_reserved) {
        hbm->totals.peak_bytes_reserved = reserved_bytes;
    }
}

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
