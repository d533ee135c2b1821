#include "allocator/private/window.h"

#include <string.h>

#include "allocator/private/align.h"
#include "allocator/private/bins.h"
#include "allocator/private/check.h"

/* The best window has one of the 32 largest holes in nearly all cases: over a steady state at 95 %
 * and 99 % the windows around these move 0.2 % more bytes than the best of all do. */
#define SEED_COUNT_MAX 32
/* So many ranges are looked at around holes.  Then the best is taken, where blocks may leave, or
 * the heap is walked once. */
#define STEPS_MAX 4096u

enum part {
    PART_HOLE,
    PART_LEAVES,
    PART_SLIDES, /* moves, but stays in the window */
    PART_STAYS,  /* no window has it */
};

/* The ranges first..last in turn, as both ends move up. */
struct scan {
    const struct hbm_window_wish *wish;
    uint64_t free_bytes; /* of all holes */
    uint32_t first;      /* HBM_POOL_NONE: no range is in it */
    uint32_t last;
    uint64_t bytes[PART_STAYS]; /* of those in it, by enum part */
    uint32_t steps;
    bool has_aligned;    /* a block that only slides and wants more than the granule was met */
    uint32_t best_first; /* HBM_POOL_NONE: nothing found yet */
    uint32_t best_last;
    uint64_t best_bytes; /* of the blocks in it; UINT64_MAX: nothing found yet */
};

static inline enum part classify_range(const struct hbm_window_wish *wish,
                                       const struct hbm_block *block)
{
    if (block->role == HBM_ROLE_HOLE) {
        return PART_HOLE;
    }
    if (block->role == HBM_ROLE_STACK || !hbm_block_is_movable(block)) {
        return PART_STAYS;
    }
    if (block->size_bytes <= wish->leaving_bytes_max) {
        return PART_LEAVES;
    }
    return block->align_shift > wish->heap->granule_shift ? PART_STAYS : PART_SLIDES;
}

static inline uint64_t count_block_bytes(const struct scan *scan)
{
    return scan->bytes[PART_LEAVES] + scan->bytes[PART_SLIDES];
}

bool hbm_window_has_place(const struct hbm_window_wish *wish, uint64_t low, uint64_t high)
{
    return high >= low && high - low >= wish->size_bytes &&
           hbm_align_down(high - wish->size_bytes, wish->align_shift) >= low;
}

/* Where all blocks may leave the addresses decide; else the worst of them is assumed. */
static bool has_room_aligned(const struct scan *scan, uint64_t room_bytes, bool all_leave)
{
    const struct hbm_window_wish *wish = scan->wish;
    if (!all_leave) {
        return room_bytes - wish->size_bytes >=
               ((uint64_t)1 << wish->align_shift) - ((uint64_t)1 << wish->heap->granule_shift);
    }
    const struct hbm_block *last = hbm_heap_at(wish->heap, scan->last);
    return hbm_window_has_place(wish, hbm_heap_at(wish->heap, scan->first)->address,
                                last->address + last->size_bytes);
}

static inline bool has_room(const struct scan *scan)
{
    const struct hbm_window_wish *wish = scan->wish;
    const uint64_t filled_bytes = (scan->free_bytes - scan->bytes[PART_HOLE]) /
                                  HBM_WINDOW_SHARE_WHOLE * wish->filled_share;
    const bool each_has_place = scan->bytes[PART_LEAVES] <= filled_bytes;
    const uint64_t room_bytes = scan->bytes[PART_HOLE] +
                                (each_has_place ? scan->bytes[PART_LEAVES] : filled_bytes);
    return room_bytes >= wish->size_bytes &&
           (wish->align_shift == wish->heap->granule_shift ||
            has_room_aligned(scan, room_bytes, each_has_place && scan->bytes[PART_SLIDES] == 0));
}

static void empty_scan(struct scan *scan)
{
    scan->first = scan->last = HBM_POOL_NONE;
    memset(scan->bytes, 0, sizeof scan->bytes);
}

static inline void drop_first(struct scan *scan)
{
    HBM_CHECK_COSTLY(scan->first != HBM_POOL_NONE);
    const struct hbm_block *block = hbm_heap_at(scan->wish->heap, scan->first);
    scan->bytes[classify_range(scan->wish, block)] -= block->size_bytes;
    scan->first = scan->first == scan->last ? HBM_POOL_NONE : block->next;
}

/* Drops ranges from below as long as there is room without them. */
static void drop_spare(struct scan *scan)
{
    const struct hbm_heap *heap = scan->wish->heap;
    while (scan->first != scan->last) {
        const uint32_t first = scan->first;
        drop_first(scan);
        if (!has_room(scan)) {
            const struct hbm_block *block = hbm_heap_at(heap, first);
            scan->bytes[classify_range(scan->wish, block)] += block->size_bytes;
            scan->first = first;
            return;
        }
    }
}

static bool is_wanted(const struct scan *scan)
{
    const struct hbm_window_wish *wish = scan->wish;
    const uint64_t bytes = count_block_bytes(scan);
    return bytes > wish->above_bytes ||
           (bytes == wish->above_bytes &&
            hbm_heap_at(wish->heap, scan->first)->address > wish->above_address);
}

/* Adds the range above the last, and keeps what is cheapest.  False: it stays where it is, and the
 * scan is empty. */
static inline bool add_range(struct scan *scan, uint32_t number, const struct hbm_block *block)
{
    const enum part part = classify_range(scan->wish, block);
    scan->steps++;
    if (part == PART_STAYS) {
        scan->has_aligned |= block->align_shift > scan->wish->heap->granule_shift;
        empty_scan(scan);
        return false;
    }
    scan->first = scan->first == HBM_POOL_NONE ? number : scan->first;
    scan->last = number;
    scan->bytes[part] += block->size_bytes;
    while (scan->first != HBM_POOL_NONE && count_block_bytes(scan) >= scan->best_bytes) {
        drop_first(scan);
    }
    if (scan->first == HBM_POOL_NONE || !has_room(scan)) {
        return true;
    }
    drop_spare(scan);
    if (!is_wanted(scan)) {
        return true;
    }
    scan->best_bytes = count_block_bytes(scan);
    scan->best_first = scan->first;
    scan->best_last = scan->last;
    return true;
}

static void scan_whole_heap(struct scan *scan)
{
    const struct hbm_heap *heap = scan->wish->heap;
    empty_scan(scan);
    for (uint32_t number = hbm_heap_at(heap, heap->stack)->next; number != HBM_POOL_NONE;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        (void)add_range(scan, number, block);
        number = block->next;
    }
}

/* The lowest range from which a window that has the hole `seed` can be better than the best. */
static uint32_t find_scan_start(struct scan *scan, uint32_t seed)
{
    const struct hbm_heap *heap = scan->wish->heap;
    for (uint32_t number = seed;; scan->steps++) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        scan->bytes[classify_range(scan->wish, block)] += block->size_bytes;
        const struct hbm_block *below = hbm_heap_at(heap, block->previous);
        scan->first = number;
        if (has_room(scan) || count_block_bytes(scan) >= scan->best_bytes ||
            classify_range(scan->wish, below) == PART_STAYS) {
            return number;
        }
        number = block->previous;
    }
}

static void scan_around_hole(struct scan *scan, uint32_t seed)
{
    const struct hbm_heap *heap = scan->wish->heap;
    const uint64_t seed_address = hbm_heap_at(heap, seed)->address;
    empty_scan(scan);
    scan->last = seed;
    uint32_t number = find_scan_start(scan, seed);
    for (empty_scan(scan); number != HBM_POOL_NONE;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        const bool goes_on = add_range(scan, number, block);
        const bool has_seed = scan->first != HBM_POOL_NONE &&
                              hbm_heap_at(heap, scan->first)->address <= seed_address;
        if (block->address >= seed_address && (!goes_on || !has_seed)) {
            return;
        }
        number = block->next;
    }
}

/* True: the windows around the largest holes are known. */
static bool scan_around_largest(struct scan *scan)
{
    uint32_t seeds[SEED_COUNT_MAX];
    const size_t count = hbm_bins_largest_ones(scan->wish->heap, seeds, SEED_COUNT_MAX);
    for (size_t i = 0; i < count; i++) {
        scan_around_hole(scan, seeds[i]);
        if (scan->steps > STEPS_MAX) {
            return scan->best_first != HBM_POOL_NONE && scan->wish->leaving_bytes_max != 0;
        }
    }
    return scan->best_first != HBM_POOL_NONE;
}

/* The holes next to the best window belong to it: they cost nothing. */
static void make_window(const struct scan *scan, struct hbm_window *window)
{
    const struct hbm_heap *heap = scan->wish->heap;
    const struct hbm_block *first = hbm_heap_at(heap, scan->best_first);
    const struct hbm_block *below = hbm_heap_at(heap, first->previous);
    *window = (struct hbm_window){.address = first->address, .before = first->previous};
    uint32_t number = scan->best_first;
    if (below->role == HBM_ROLE_HOLE) {
        window->before = below->previous;
        number = first->previous;
    }
    bool is_inside = true;
    while (number != HBM_POOL_NONE) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        const bool is_hole = block->role == HBM_ROLE_HOLE;
        if (!is_inside && !is_hole) {
            break;
        }
        *(is_hole ? &window->hole_bytes : &window->block_bytes) += block->size_bytes;
        is_inside = is_inside && number != scan->best_last;
        number = block->next;
    }
    window->after = number;
    HBM_CHECK(window->block_bytes == scan->best_bytes);
}

bool hbm_window_find(const struct hbm_window_wish *wish, struct hbm_window *window)
{
    HBM_CHECK(wish->size_bytes != 0);
    HBM_CHECK(wish->align_shift >= wish->heap->granule_shift);
    const bool leaves = wish->leaving_bytes_max != 0;
    struct scan scan = {
        .wish = wish, .free_bytes = hbm_window_free_bytes(wish->heap), .best_bytes = UINT64_MAX};
    if (!leaves && wish->align_shift > wish->heap->granule_shift) {
        return false;
    }
    if (hbm_pool_used_count(&wish->heap->pool) <= HBM_WINDOW_SMALL_COUNT ||
        !scan_around_largest(&scan)) {
        scan_whole_heap(&scan);
    }
    if (scan.best_first == HBM_POOL_NONE || (scan.has_aligned && !leaves)) {
        return false;
    }
    make_window(&scan, window);
    return true;
}
