#include "allocator/private/vacate.h"

#include "allocator/private/bins.h"
#include "allocator/private/check.h"
#include "allocator/private/heap.h"
#include "allocator/private/resume.h"
#include "allocator/private/window.h"

/* No more blocks leave one window, the largest that may. */
#define LEAVING_COUNT_MAX 256
/* After so many windows whose blocks could not leave, blocks only close up.  A small heap, where a
 * window costs little to find, has more tries. */
#define TRIES_MAX 8
#define TRIES_MAX_SMALL 24
/* So often all holes are counted on to be filled, in a heap that is not small. */
#define HOPEFUL_TRIES_MAX 1
/* So many sizes of blocks that may leave are tried at once, each a quarter of the one before. */
#define SIZE_COUNT 4
/* Each try adds at most two, and the first also those sizes. */
#define CANDIDATE_COUNT_MAX (2 * TRIES_MAX_SMALL + SIZE_COUNT)

/* A block of the window that goes to a place elsewhere. */
struct leaving {
    uint32_t block;
    uint32_t place; /* the block that keeps the place until then; HBM_POOL_NONE: it has none */
    uint64_t size_bytes;
};

/* A window that was found, and what was assumed of its blocks. */
struct candidate {
    struct hbm_window_wish wish;
    struct hbm_window window;
};

/* Invariant: leaving[] is in descending order of size. */
struct vacating {
    struct hbm *hbm;
    struct hbm_window_wish wish;
    struct hbm_window window;
    struct leaving leaving[LEAVING_COUNT_MAX];
    size_t count;
    bool is_aligned; /* the demand or a block of the window wants more than granule alignment */
    uint64_t misfit_bytes; /* of the first of them that had no place; 0: each had one */
    struct candidate candidates[CANDIDATE_COUNT_MAX];
    size_t candidate_count;
    size_t try_count; /* of windows whose blocks could not leave */
    bool refused;
};

static uint32_t find_first_inside(const struct vacating *vacating)
{
    return hbm_heap_at(&vacating->hbm->heap, vacating->window.before)->next;
}

/* ---- who leaves ---- */

static void add_leaving(struct vacating *vacating, uint32_t number, uint64_t size_bytes)
{
    size_t at = vacating->count;
    if (at == LEAVING_COUNT_MAX && vacating->leaving[at - 1].size_bytes >= size_bytes) {
        return;
    }
    at -= at == LEAVING_COUNT_MAX;
    vacating->count = at + 1;
    for (; at > 0 && vacating->leaving[at - 1].size_bytes < size_bytes; at--) {
        vacating->leaving[at] = vacating->leaving[at - 1];
    }
    vacating->leaving[at] = (struct leaving){.block = number, .size_bytes = size_bytes};
}

static void find_who_may_leave(struct vacating *vacating)
{
    const struct hbm_heap *heap = &vacating->hbm->heap;
    vacating->count = 0;
    vacating->is_aligned = vacating->wish.align_shift > heap->granule_shift;
    for (uint32_t number = find_first_inside(vacating); number != vacating->window.after;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        vacating->is_aligned |= block->role != HBM_ROLE_HOLE &&
                                block->align_shift > heap->granule_shift;
        if (block->role != HBM_ROLE_HOLE && block->size_bytes <= vacating->wish.leaving_bytes_max) {
            add_leaving(vacating, number, block->size_bytes);
        }
        number = block->next;
    }
}

static bool is_leaving(const struct vacating *vacating, uint32_t number)
{
    for (size_t i = 0; i < vacating->count; i++) {
        if (vacating->leaving[i].block == number) {
            return vacating->leaving[i].place != HBM_POOL_NONE;
        }
    }
    return false;
}

/* Takes the holes of the window out of the bins, so that no block of it goes to one, or puts them
 * back. */
static void hide_holes(const struct vacating *vacating, bool hide)
{
    struct hbm_heap *heap = &vacating->hbm->heap;
    for (uint32_t number = find_first_inside(vacating); number != vacating->window.after;) {
        struct hbm_block *block = hbm_heap_at(heap, number);
        if (block->role == HBM_ROLE_HOLE && hide) {
            hbm_bins_remove(heap, number, block);
        } else if (block->role == HBM_ROLE_HOLE) {
            hbm_bins_insert(heap, number, block);
        }
        number = block->next;
    }
}

/* Whether the demand has a place once those leave that have one, and the others close up.
 * room_bytes is free then.  Without alignments it is all in one piece. */
static bool has_room_then(const struct vacating *vacating, uint64_t room_bytes)
{
    const struct hbm_heap *heap = &vacating->hbm->heap;
    if (!vacating->is_aligned || room_bytes < vacating->wish.size_bytes) {
        return room_bytes >= vacating->wish.size_bytes;
    }
    const struct hbm_block *before = hbm_heap_at(heap, vacating->window.before);
    uint64_t end = before->address + before->size_bytes;
    for (uint32_t number = find_first_inside(vacating); number != vacating->window.after;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        if (block->role != HBM_ROLE_HOLE && !is_leaving(vacating, number)) {
            if (hbm_window_has_place(&vacating->wish, end, block->address)) {
                return true;
            }
            end = hbm_align_up(end, block->align_shift) + block->size_bytes;
        }
        number = block->next;
    }
    const uint32_t after = vacating->window.after;
    return hbm_window_has_place(&vacating->wish, end,
                                after == HBM_POOL_NONE ? heap->capacity_bytes
                                                       : hbm_heap_at(heap, after)->address);
}

static uint32_t take_place(struct vacating *vacating, const struct leaving *leaving)
{
    struct hbm_heap *heap = &vacating->hbm->heap;
    return hbm_heap_take(heap, leaving->size_bytes, hbm_heap_at(heap, leaving->block)->align_shift,
                         HBM_ROLE_BUFFER, &vacating->refused);
}

static void give_places(struct vacating *vacating)
{
    for (size_t i = 0; i < vacating->count; i++) {
        if (vacating->leaving[i].place != HBM_POOL_NONE) {
            hbm_heap_give(&vacating->hbm->heap, vacating->leaving[i].place);
            vacating->leaving[i].place = HBM_POOL_NONE;
        }
    }
}

/* Gives blocks of the window places elsewhere, the largest first, until the rest is room enough.
 * False: it never is, and none has a place. */
static bool take_places(struct vacating *vacating)
{
    uint64_t room_bytes = vacating->window.hole_bytes;
    vacating->misfit_bytes = 0;
    hide_holes(vacating, true);
    bool enough = has_room_then(vacating, room_bytes);
    for (size_t i = 0; i < vacating->count && !enough && !vacating->refused; i++) {
        struct leaving *leaving = &vacating->leaving[i];
        leaving->place = take_place(vacating, leaving);
        if (leaving->place == HBM_POOL_NONE) {
            vacating->misfit_bytes = vacating->misfit_bytes == 0 ? leaving->size_bytes
                                                                 : vacating->misfit_bytes;
            continue;
        }
        room_bytes += leaving->size_bytes;
        enough = has_room_then(vacating, room_bytes);
    }
    hide_holes(vacating, false);
    if (!enough) {
        give_places(vacating);
    }
    return enough;
}

/* ---- moving ---- */

static bool copy_block(struct vacating *vacating, const struct hbm_block *block, uint64_t to)
{
    struct hbm *hbm = vacating->hbm;
    if (!hbm_resume_copy(&hbm->host.services, block->address, to, block->size_bytes)) {
        vacating->refused = true;
        return false;
    }
    hbm->totals.blocks_moved++;
    hbm->totals.bytes_moved += block->size_bytes;
    return true;
}

static void move_leaving(struct vacating *vacating)
{
    struct hbm_heap *heap = &vacating->hbm->heap;
    for (size_t i = 0; i < vacating->count && !vacating->refused; i++) {
        struct leaving *leaving = &vacating->leaving[i];
        if (leaving->place == HBM_POOL_NONE) {
            continue;
        }
        const struct hbm_block *place = hbm_heap_at(heap, leaving->place);
        if (copy_block(vacating, hbm_heap_at(heap, leaving->block), place->address)) {
            hbm_heap_swap_places(heap, leaving->block, leaving->place);
        }
    }
    give_places(vacating);
}

/* Moves what is left down, from the bottom up: nothing is ever in the way. */
static void close_up(struct vacating *vacating)
{
    struct hbm_heap *heap = &vacating->hbm->heap;
    const struct hbm_block *before = hbm_heap_at(heap, vacating->window.before);
    uint64_t end = before->address + before->size_bytes;
    bool has_moved = false;
    for (uint32_t number = find_first_inside(vacating);
         number != vacating->window.after && !vacating->refused;) {
        struct hbm_block *block = hbm_heap_at(heap, number);
        number = block->next;
        if (block->role == HBM_ROLE_HOLE) {
            continue;
        }
        if (hbm_window_has_place(&vacating->wish, end, block->address)) {
            break;
        }
        const uint64_t target = hbm_align_up(end, block->align_shift);
        HBM_CHECK(target <= block->address);
        end = target + block->size_bytes;
        if (target != block->address && copy_block(vacating, block, target)) {
            block->address = target;
            has_moved = true;
        }
    }
    if (has_moved) {
        hbm_heap_relink_between(heap, vacating->window.before, vacating->window.after);
    }
}

static enum hbm_vacate_result move_blocks(struct vacating *vacating)
{
    move_leaving(vacating);
    close_up(vacating);
    vacating->hbm->room_count++;
    HBM_CHECK_COSTLY(hbm_heap_invariants_hold(&vacating->hbm->heap));
    return vacating->refused ? HBM_VACATE_REFUSED : HBM_VACATE_DONE;
}

/* ---- all ---- */

/* Blocks that must close up may leave a hole each where alignments keep them apart. */
static bool reserve_records(struct vacating *vacating)
{
    size_t count = 1;
    for (uint32_t number = find_first_inside(vacating); number != vacating->window.after;
         number = hbm_heap_at(&vacating->hbm->heap, number)->next) {
        count++;
    }
    vacating->refused = !hbm_heap_relink_reserve(&vacating->hbm->heap, count);
    return !vacating->refused;
}

static void add_candidate(struct vacating *vacating, const struct hbm_window_wish *wish)
{
    HBM_CHECK(vacating->candidate_count < CANDIDATE_COUNT_MAX);
    struct candidate *candidate = &vacating->candidates[vacating->candidate_count];
    candidate->wish = *wish;
    vacating->candidate_count += hbm_window_find(wish, &candidate->window);
}

static void choose_cheapest(struct vacating *vacating)
{
    struct candidate *candidates = vacating->candidates;
    size_t best = 0;
    for (size_t i = 1; i < vacating->candidate_count; i++) {
        if (candidates[i].window.block_bytes < candidates[best].window.block_bytes) {
            best = i;
        }
    }
    vacating->wish = candidates[best].wish;
    vacating->window = candidates[best].window;
    candidates[best] = candidates[--vacating->candidate_count];
}

/* How many bytes of blocks of at most some size holes have room for: in each that is as large, half
 * such a block is lost. */
struct estimate {
    uint64_t sizes[SIZE_COUNT];
    uint64_t bytes[SIZE_COUNT];
};

static bool add_hole(const struct hbm_block *hole, const void *context)
{
    struct estimate *estimate = *(struct estimate *const *)context;
    for (int i = 0; i < SIZE_COUNT; i++) {
        const bool is_useful = hole->size_bytes >= estimate->sizes[i];
        estimate->bytes[i] += is_useful ? hole->size_bytes - estimate->sizes[i] / 2 : 0;
    }
    return false;
}

/* Windows whose blocks of up to several sizes leave, as far as all holes have room for such. */
static void add_estimated_candidates(struct vacating *vacating)
{
    struct hbm_heap *heap = &vacating->hbm->heap;
    const uint64_t free_bytes = hbm_window_free_bytes(heap);
    struct hbm_window_wish wish = vacating->wish;
    struct estimate estimate = {.sizes = {vacating->misfit_bytes - 1}};
    struct estimate *pointer = &estimate;
    for (int i = 1; i < SIZE_COUNT; i++) {
        estimate.sizes[i] = estimate.sizes[i - 1] / 4;
    }
    (void)hbm_bins_scan(heap, (uint64_t)1 << heap->granule_shift, UINT64_MAX, add_hole, &pointer);
    for (int i = 0; i < SIZE_COUNT && estimate.sizes[i] >> heap->granule_shift != 0; i++) {
        wish.leaving_bytes_max = estimate.sizes[i];
        wish.filled_share = (uint32_t)(estimate.bytes[i] /
                                       (free_bytes / HBM_WINDOW_SHARE_WHOLE + 1));
        add_candidate(vacating, &wish);
    }
}

/* All blocks stay in the window, as they can wherever a slide suffices. */
static void add_last_candidate(struct vacating *vacating)
{
    struct hbm_window_wish wish = vacating->wish;
    vacating->candidate_count = 0;
    wish.leaving_bytes_max = wish.above_bytes = wish.above_address = 0;
    add_candidate(vacating, &wish);
}

/* After a window whose blocks could not leave: the next cheapest, one whose block without a place
 * stays, or one that counts on less of the holes. */
static void add_more_candidates(struct vacating *vacating, bool is_small)
{
    struct hbm_window_wish wish = vacating->wish;
    if (vacating->try_count == 1 && vacating->misfit_bytes != 0) {
        add_estimated_candidates(vacating);
    }
    if (wish.filled_share != HBM_WINDOW_SHARE_WHOLE) {
        wish.filled_share -= (wish.filled_share + 3) / 4;
        add_candidate(vacating, &wish);
        return;
    }
    if (!is_small && vacating->try_count > HOPEFUL_TRIES_MAX) {
        return;
    }
    wish.above_bytes = vacating->window.block_bytes;
    wish.above_address = vacating->window.address;
    add_candidate(vacating, &wish);
    if (vacating->misfit_bytes != 0) {
        wish.leaving_bytes_max = vacating->misfit_bytes - 1;
        add_candidate(vacating, &wish);
    }
}

static enum hbm_vacate_result try_windows(struct vacating *vacating)
{
    const bool is_small = hbm_pool_used_count(&vacating->hbm->heap.pool) <= HBM_WINDOW_SMALL_COUNT;
    const size_t tries_max = is_small ? TRIES_MAX_SMALL : TRIES_MAX;
    while (vacating->candidate_count != 0) {
        choose_cheapest(vacating);
        /* A hole suits, and was refused its record or became free meanwhile. */
        if (vacating->window.block_bytes == 0) {
            return HBM_VACATE_DONE;
        }
        find_who_may_leave(vacating);
        if (reserve_records(vacating) && take_places(vacating)) {
            return move_blocks(vacating);
        }
        if (vacating->refused) {
            return HBM_VACATE_REFUSED;
        }
        if (vacating->wish.leaving_bytes_max == 0) {
            break;
        }
        if (++vacating->try_count < tries_max) {
            add_more_candidates(vacating, is_small);
        }
        if (vacating->try_count == tries_max || vacating->candidate_count == 0) {
            add_last_candidate(vacating);
        }
    }
    return HBM_VACATE_NONE;
}

enum hbm_vacate_result hbm_vacate(struct hbm_call *call)
{
    struct hbm *hbm = call->hbm;
    const struct hbm_heap *heap = &hbm->heap;
    hbm_call_refresh(call);
    if (call->demand.size_bytes == 0 || hbm->stranded != NULL ||
        hbm_call_stack_wanted(call) != hbm_heap_reserved(heap)) {
        return HBM_VACATE_NONE;
    }
    struct vacating vacating;
    vacating.hbm = hbm;
    vacating.refused = false;
    vacating.candidate_count = vacating.try_count = 0;
    const bool repacks = hbm->options.defrag == HBM_DEFRAG_REPACK;
    const struct hbm_window_wish wish = {.heap = heap,
                                         .size_bytes = call->demand.size_bytes,
                                         .align_shift = call->demand.align_shift,
                                         .leaving_bytes_max = repacks ? hbm_heap_largest(heap) : 0,
                                         .filled_share = HBM_WINDOW_SHARE_WHOLE};
    add_candidate(&vacating, &wish);
    return try_windows(&vacating);
}
