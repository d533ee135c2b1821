/* Finds where room is made most cheaply, and tries one window after the other. */
#ifndef ALLOCATOR_PRIVATE_WINDOW_H
#define ALLOCATOR_PRIVATE_WINDOW_H

#include "allocator/private/block.h"
#include "allocator/private/plan.h"

/* Finds where room is made most cheaply: a run of neighbouring ranges whose holes and blocks come
 * to what is demanded. */

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

/* Tries windows one after the other so that a demand has room: the cheapest first. */

/* After so many windows whose blocks could not leave, blocks only close up.  A small heap, where a
 * window costs little to find, has more tries. */
#define HBM_WINDOWS_TRIES_MAX 8u
#define HBM_WINDOWS_TRIES_MAX_SMALL 24u
/* The search considers so many sizes of blocks that may leave, each a quarter of the one
 * before. */
#define HBM_WINDOWS_SIZE_COUNT 4u
/* Each try adds at most two; the sizes are added once, where no other candidate is left. */
#define HBM_WINDOWS_COUNT_MAX (2u * HBM_WINDOWS_TRIES_MAX_SMALL + HBM_WINDOWS_SIZE_COUNT)

/* A window that is looked for no sooner, and no further, than it takes to know the cheapest. */
struct hbm_window_candidate {
    struct hbm_window_wish wish;
    struct hbm_window window; /* meaningful once it is found */
    uint64_t least_bytes;     /* of blocks in it; no less before it is found */
    bool is_found;
};

struct hbm_windows {
    struct hbm_window_candidate candidates[HBM_WINDOWS_COUNT_MAX];
    size_t count;
    unsigned try_count; /* of windows whose blocks could not leave */
    /* The first block without a place, until sizes are estimated by it; or 0. */
    uint64_t misfit_bytes;
    bool is_small; /* the heap is */
};

/* Starts with the windows for a wish. */
void hbm_windows_begin(struct hbm_windows *windows, const struct hbm_window_wish *wish);

/* The cheapest that is left, and the wish that it was found for.  False: there is none. */
bool hbm_windows_next(struct hbm_windows *windows, struct hbm_window_wish *wish,
                      struct hbm_window *window);

/* Blocks of the window that was found for the wish had no places, the first of them one of
 * misfit_bytes; 0: each had one.  False: there are no further windows. */
bool hbm_windows_go_on(struct hbm_windows *windows, const struct hbm_window_wish *wish,
                       const struct hbm_window *window, uint64_t misfit_bytes);

#endif
