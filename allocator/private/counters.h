/* The counters of a device that are history, and sums over its blocks. */
#ifndef ALLOCATOR_PRIVATE_COUNTERS_H
#define ALLOCATOR_PRIVATE_COUNTERS_H

#include "allocator/private/state.h"

/* Raises the peak of what is in use to the present state. */
static inline void hbm_peak_in_use_note(struct hbm *hbm)
{
    if (hbm->heap.used_bytes > hbm->totals.peak_bytes_in_use) {
        hbm->totals.peak_bytes_in_use = hbm->heap.used_bytes;
    }
}

/* Raises peaks to the present state. */
static inline void hbm_peaks_note(struct hbm *hbm)
{
    const uint64_t reserved_bytes = hbm_heap_reserved(&hbm->heap);
    HBM_CHECK(hbm->heap.used_bytes <= hbm->options.capacity_bytes - reserved_bytes);
    hbm_peak_in_use_note(hbm);
    if (reserved_bytes > hbm->totals.peak_bytes_reserved) {
        hbm->totals.peak_bytes_reserved = reserved_bytes;
    }
}

/* Remembers the size of a new block if it is the largest so far. */
static inline void hbm_largest_note(struct hbm *hbm, uint64_t size_bytes)
{
    if (size_bytes > hbm->totals.largest_alloc_size) {
        hbm->totals.largest_alloc_size = size_bytes;
    }
}

/* The largest stack that could be reserved now, by the contract. */
uint64_t hbm_reservable(const struct hbm *hbm);

static inline uint64_t hbm_free_bytes(const struct hbm *hbm)
{
    return hbm->options.capacity_bytes - hbm->heap.used_bytes - hbm_heap_reserved(&hbm->heap);
}

#endif
