#include "allocator/private/heap.h"
#include "allocator/private/state.h"

static bool is_range_valid(const struct hbm *hbm, uint64_t address, uint64_t size_bytes)
{
    uint64_t mask = hbm->options.granule_bytes - 1u, capacity_bytes = hbm->options.capacity_bytes;
    return size_bytes != 0 && ((address | size_bytes) & mask) == 0 &&
           size_bytes <= capacity_bytes && address <= capacity_bytes - size_bytes;
}

static enum hbm_result retire_with_lock(struct hbm *hbm, uint64_t address, uint64_t size_bytes)
{
    const uint32_t hole = hbm_heap_hole_around(&hbm->heap, address, size_bytes);
    if (hole == HBM_POOL_NONE) {
        return hbm_fail_invalid(hbm, "what is retired must be free");
    }
    if (hbm_stranded_absent(hbm, hbm->stranded) != NULL) {
        return hbm_fail_unavailable(hbm,
                                    "contents that are stranded on the host may need the place");
    }
    const uint32_t number = hbm_heap_take_at(&hbm->heap, hole, address, size_bytes,
                                             HBM_ROLE_RETIRED);
    if (number == HBM_POOL_NONE) {
        return hbm_fail_unavailable(hbm, "no host memory for the record of what is retired");
    }
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    HBM_CHECK(block->size_bytes == size_bytes);
    HBM_CHECK(block->address == address);
    hbm_largest_note(hbm, size_bytes);
    hbm_peaks_note(hbm);
    return HBM_OK;
}

enum hbm_result hbm_retire(struct hbm *hbm, uint64_t address, uint64_t size_bytes)
{
    if (!is_range_valid(hbm, address, size_bytes)) {
        return hbm_fail_invalid(hbm, "what is retired must be whole granules inside the device");
    }
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    const enum hbm_result result = retire_with_lock(hbm, address, size_bytes);
    hbm_lock_give(&hbm->lock);
    return result;
}
