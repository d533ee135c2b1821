#include "allocator/private/window.h"

#include <string.h>

#include "allocator/private/bins.h"

/* The best window has one of the largest holes in nearly all cases: over steady states at 99 % the
 * windows around 8 and around 32 of them move as many bytes. */
#define SEED_COUNT_MAX 16
/* The scan looks at so many ranges around holes.  Then the best is taken, where blocks may leave,
 * or the heap is walked once. */
#define STEPS_MAX 2048u

enum window_part {
    PART_HOLE,
    PART_LEAVES,
    PART_SLIDES, /* moves, but stays in the window */
    PART_STAYS,  /* no window has it */
};

/* The ranges first..last in turn, as both ends move up. */
struct window_scan {
    const struct hbm_window_wish *wish;
    uint64_t free_bytes; /* of all holes */
    uint32_t first;      /* HBM_POOL_NONE: no range is in it */
    uint32_t last;
    uint64_t bytes[PART_STAYS]; /* of those in it, by enum window_part */
    uint32_t steps;
    bool has_aligned;    /* a block that only slides and wants more than the granule was met */
    uint32_t best_first; /* HBM_POOL_NONE: nothing found yet */
    uint32_t best_last;
    uint64_t best_bytes; /* of the blocks in it; the limit while nothing is found */
};

static inline enum window_part classify_range(const struct hbm_window_wish *wish,
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

static inline uint64_t count_block_bytes(const struct window_scan *scan)
{
    return scan->bytes[PART_LEAVES] + scan->bytes[PART_SLIDES];
}

bool hbm_window_has_place(const struct hbm_window_wish *wish, uint64_t low, uint64_t high)
{
    return high >= low && high - low >= wish->size_bytes &&
           hbm_align_down(high - wish->size_bytes, wish->align_shift) >= low;
}

/* Uses the addresses where all blocks may leave; otherwise assumes the worst of them. */
static bool has_room_aligned(const struct window_scan *scan, uint64_t room_bytes, bool all_leave)
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

static inline bool has_room(const struct window_scan *scan)
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

static void empty_scan(struct window_scan *scan)
{
    scan->first = scan->last = HBM_POOL_NONE;
    memset(scan->bytes, 0, sizeof scan->bytes);
}

static inline void drop_first(struct window_scan *scan)
{
    HBM_CHECK_COSTLY(scan->first != HBM_POOL_NONE);
    const struct hbm_block *block = hbm_heap_at(scan->wish->heap, scan->first);
    scan->bytes[classify_range(scan->wish, block)] -= block->size_bytes;
    scan->first = scan->first == scan->last ? HBM_POOL_NONE : block->next;
}

/* Drops ranges from below as long as there is room without them. */
static void drop_spare(struct window_scan *scan)
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

static bool is_wanted(const struct window_scan *scan)
{
    const struct hbm_window_wish *wish = scan->wish;
    const uint64_t bytes = count_block_bytes(scan);
    return bytes > wish->above_bytes ||
           (bytes == wish->above_bytes &&
            hbm_heap_at(wish->heap, scan->first)->address > wish->above_address);
}

/* Keeps the cheapest window that ends where the scan does. */
static inline void weigh_window(struct window_scan *scan)
{
    while (scan->first != HBM_POOL_NONE && count_block_bytes(scan) >= scan->best_bytes) {
        drop_first(scan);
    }
    if (scan->first == HBM_POOL_NONE || !has_room(scan)) {
        return;
    }
    drop_spare(scan);
    if (!is_wanted(scan)) {
        return;
    }
    scan->best_bytes = count_block_bytes(scan);
    scan->best_first = scan->first;
    scan->best_last = scan->last;
}

/* Adds the range above the last, and keeps what is cheapest.  False: it stays where it is, and the
 * scan is empty. */
static inline bool add_range(struct window_scan *scan, uint32_t number,
                             const struct hbm_block *block)
{
    const enum window_part part = classify_range(scan->wish, block);
    scan->steps++;
    if (part == PART_STAYS) {
        scan->has_aligned |= block->align_shift > scan->wish->heap->granule_shift;
        empty_scan(scan);
        return false;
    }
    scan->first = scan->first == HBM_POOL_NONE ? number : scan->first;
    scan->last = number;
    scan->bytes[part] += block->size_bytes;
    weigh_window(scan);
    return true;
}

static void scan_whole_heap(struct window_scan *scan)
{
    const struct hbm_heap *heap = scan->wish->heap;
    empty_scan(scan);
    for (uint32_t number = hbm_heap_at(heap, heap->stack)->next; number != HBM_POOL_NONE;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        (void)add_range(scan, number, block);
        number = block->next;
    }
}

/* Adds ranges below the hole `seed`, down to the lowest from which a window that has it can be
 * better than the best. */
static void add_ranges_below(struct window_scan *scan, uint32_t seed)
{
    const struct hbm_heap *heap = scan->wish->heap;
    enum window_part part = PART_HOLE;
    scan->last = seed;
    for (uint32_t number = seed;; scan->steps++) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        scan->bytes[part] += block->size_bytes;
        scan->first = number;
        number = block->previous;
        if (has_room(scan) || count_block_bytes(scan) >= scan->best_bytes) {
            return;
        }
        part = classify_range(scan->wish, hbm_heap_at(heap, number));
        if (part == PART_STAYS) {
            return;
        }
    }
}

/* True if a window may end below the hole `seed`, up to which the scan goes. */
static bool may_do_without(struct window_scan *scan, const struct hbm_block *seed)
{
    if (scan->wish->align_shift != scan->wish->heap->granule_shift) {
        return true;
    }
    scan->bytes[PART_HOLE] -= seed->size_bytes;
    const bool has_room_below = has_room(scan);
    scan->bytes[PART_HOLE] += seed->size_bytes;
    return has_room_below;
}

static void scan_around_hole(struct window_scan *scan, uint32_t seed_number)
{
    const struct hbm_heap *heap = scan->wish->heap;
    const struct hbm_block *seed = hbm_heap_at(heap, seed_number);
    uint32_t number = seed->next;
    empty_scan(scan);
    add_ranges_below(scan, seed_number);
    if (may_do_without(scan, seed)) {
        number = scan->first;
        empty_scan(scan);
    } else {
        weigh_window(scan);
    }
    while (number != HBM_POOL_NONE) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        const bool goes_on = add_range(scan, number, block);
        const bool has_seed = scan->first != HBM_POOL_NONE &&
                              hbm_heap_at(heap, scan->first)->address <= seed->address;
        if (block->address >= seed->address && (!goes_on || !has_seed)) {
            return;
        }
        number = block->next;
    }
}

/* True: the windows around the largest holes are known. */
static bool scan_around_largest(struct window_scan *scan)
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
static void make_window(const struct window_scan *scan, struct hbm_window *window)
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

bool hbm_window_find(const struct hbm_window_wish *wish, uint64_t limit_bytes,
                     struct hbm_window *window)
{
    HBM_CHECK(wish->size_bytes != 0);
    HBM_CHECK(wish->align_shift >= wish->heap->granule_shift);
    const bool leaves = wish->leaving_bytes_max != 0;
    struct window_scan scan = {
        .wish = wish, .free_bytes = hbm_window_free_bytes(wish->heap), .best_bytes = limit_bytes};
    if (!leaves && wish->align_shift > wish->heap->granule_shift) {
        return false;
    }
    if (hbm_pool_used_count(&wish->heap->pool) <= HBM_WINDOW_SMALL_COUNT ||
        (!scan_around_largest(&scan) && limit_bytes == UINT64_MAX)) {
        scan_whole_heap(&scan);
    }
    if (scan.best_first == HBM_POOL_NONE || (scan.has_aligned && !leaves)) {
        return false;
    }
    make_window(&scan, window);
    return true;
}
