/* Finds where room is made most cheaply: a run of neighbouring ranges whose holes and blocks come
 * to what is demanded. */
#ifndef ALLOCATOR_PRIVATE_WINDOW_H
#define ALLOCATOR_PRIVATE_WINDOW_H

#include "allocator/private/block.h"
#include "allocator/private/plan.h"

#define HBM_WINDOW_SHARE_WHOLE 256u
/* A heap of no more ranges is looked at as a whole. */
#define HBM_WINDOW_SMALL_COUNT 192u

struct hbm_window_wish {
    const struct hbm_heap *heap;
    uint64_t size_bytes; /* not 0 */
    uint32_t align_shift;
    /* Blocks of up to this size may leave the window; larger ones only move within it.  0: none
     * leaves, and all keep their order. */
    uint64_t leaving_bytes_max;
    /* The blocks that leave come to at most this share of the holes outside, as blocks fill holes
     * only in part: 0..HBM_WINDOW_SHARE_WHOLE. */
    uint32_t filled_share;
    /* The search considers only windows that cost more, or as much and begin above that address. */
    uint64_t above_bytes, above_address;
};

/* The bytes of all holes, where no block is stranded. */
static inline uint64_t hbm_window_free_bytes(const struct hbm_heap *heap)
{
    return heap->capacity_bytes - heap->used_bytes - hbm_heap_reserved(heap);
}

/* Invariant: the ranges between `before` and `after` are holes and movable blocks, and neither of
 * the two is a hole. */
struct hbm_window {
    uint64_t address; /* of the first range that counts */
    uint32_t before;
    uint32_t after; /* HBM_POOL_NONE: the window ends with the device */
    uint64_t hole_bytes;
    uint64_t block_bytes; /* at most so many move */
};

/* The window with the fewest bytes of blocks among those whose holes and leaving blocks come to the
 * demanded bytes.  It is looked for around the largest holes, and in the whole heap where that is
 * small or they have none.  With a limit other than UINT64_MAX only windows that cost less are
 * looked for, in a heap that is not small only around holes.  False: there is none, or (only where
 * no block may leave) a block that was seen wants more than granule alignment, or the demand does:
 * the answer is then no proof.  Far from walls O(largest holes * blocks that move), else O(ranges).
 */
bool hbm_window_find(const struct hbm_window_wish *wish, uint64_t limit_bytes,
                     struct hbm_window *window);

/* Returns true when a free range [low, high) has an aligned place for the wish. */
bool hbm_window_has_place(const struct hbm_window_wish *wish, uint64_t low, uint64_t high);

#endif
