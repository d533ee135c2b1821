/* The ranges of device memory: every byte of [0, capacity) belongs to the stack, to one block, or
 * to one hole, all of them linked in address order; holes are also found by size.
 *
 * Holes are kept in bins of nearby sizes with a bitmap over them, so the next larger one is found
 * at once.  Within a bin the first holes are in a list and, once that is long, further ones in a
 * bitwise trie on size: when only the request's own bin is left, the search there is exact and
 * bounded, so a request that fits some hole is never refused. */
#ifndef ALLOCATOR_PRIVATE_HEAP_H
#define ALLOCATOR_PRIVATE_HEAP_H

#include "allocator/private/block.h"

/* One hole of the whole capacity.  False when host memory is refused; nothing is held then. */
bool hbm_heap_init(struct hbm_heap *heap, struct hbm_host *host, uint64_t capacity_bytes,
                   uint32_t granule_shift);
void hbm_heap_deinit(struct hbm_heap *heap);

/* Finds a hole for size_bytes (a granule multiple) at a multiple of 1 << align_shift (the granule's
 * shift or more) and makes the block at its highest such address, without a description.
 * HBM_POOL_NONE: no hole, or no host memory, in which case *host_refused is set.
 * O(log holes) for granule alignment. */
uint32_t hbm_heap_take(struct hbm_heap *heap, uint64_t size_bytes, uint32_t align_shift,
                       enum hbm_role role, bool *host_refused);

/* The hole that [address, address + size_bytes) lies in, or HBM_POOL_NONE.  O(blocks). */
uint32_t hbm_heap_hole_around(const struct hbm_heap *heap, uint64_t address, uint64_t size_bytes);

/* Makes a block of that range of a hole, without a description.  HBM_POOL_NONE: no host memory. */
uint32_t hbm_heap_take_at(struct hbm_heap *heap, uint32_t hole_number, uint64_t address,
                          uint64_t size_bytes, enum hbm_role role);

/* Gives a block's range back; its number may be reused at once. */
void hbm_heap_give(struct hbm_heap *heap, uint32_t number);

/* Sets the stack's size.  False, and nothing changed, when a block is in the way. */
bool hbm_heap_stack_set(struct hbm_heap *heap, uint64_t size_bytes);

/* The largest hole in bytes; 0 when there is none. */
uint64_t hbm_heap_largest(const struct hbm_heap *heap);

/* Links all ranges anew: numbers[0..count) are all blocks with an address, in address order, with
 * their addresses already set.  Holes are made where there are gaps. */
void hbm_heap_relink(struct hbm_heap *heap, const uint32_t *numbers, size_t count);

/* Does the same for the ranges between two that stay: blocks have their new addresses and kept
 * their order. after may be HBM_POOL_NONE.  Neither of the two is a hole.  O(ranges between). */
void hbm_heap_relink_between(struct hbm_heap *heap, uint32_t before, uint32_t after);

/* Two blocks of the same size that are no neighbours take each other's range. */
void hbm_heap_swap_places(struct hbm_heap *heap, uint32_t left_number, uint32_t right_number);

/* Takes a block without its range: it counts as used, but has no address and no neighbours.  The
 * caller relinks the others. */
void hbm_heap_strand(struct hbm_heap *heap, uint32_t number);

/* Gives such a block a range again; false if there is no hole, or no host memory for its record. */
bool hbm_heap_return(struct hbm_heap *heap, uint32_t number);

/* Gives the number of such a block back. */
void hbm_heap_stranded_give(struct hbm_heap *heap, uint32_t number);

/* Sees to it that moves can be followed by a relink, which needs a record for each gap. */
bool hbm_heap_relink_reserve(struct hbm_heap *heap, size_t count);

bool hbm_heap_invariants_hold(const struct hbm_heap *heap);

#endif
