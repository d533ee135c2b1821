/* Holes by size: insertion, removal and search in the bins of a heap. */
#ifndef ALLOCATOR_PRIVATE_BINS_H
#define ALLOCATOR_PRIVATE_BINS_H

#include "allocator/private/block.h"

void hbm_bins_insert(struct hbm_heap *heap, uint32_t number, struct hbm_block *hole);
void hbm_bins_remove(struct hbm_heap *heap, uint32_t number, struct hbm_block *hole);

/* A hole of at least size_bytes (good fit), or HBM_POOL_NONE if there is none.  O(log holes). */
uint32_t hbm_bins_find(const struct hbm_heap *heap, uint64_t size_bytes);

/* The first hole for which accepts() holds among those of at least size_bytes and less than
 * limit_bytes, or HBM_POOL_NONE.  Linear in those holes. */
uint32_t hbm_bins_scan(const struct hbm_heap *heap, uint64_t size_bytes, uint64_t limit_bytes,
                       bool (*accepts)(const struct hbm_block *hole, const void *context),
                       const void *context);

/* The largest hole, or HBM_POOL_NONE. */
uint32_t hbm_bins_largest(const struct hbm_heap *heap);

/* The number of holes in all bins, and whether each is where its size says. */
bool hbm_bins_invariants_hold(const struct hbm_heap *heap, uint64_t hole_count);

#endif
