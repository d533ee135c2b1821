#include "allocator/private/call.h"

#include "allocator/private/bins.h"
#include "allocator/private/heap.h"
#include "allocator/private/moves.h"
#include "allocator/private/window.h"

/* No more blocks leave one window, the largest that may. */
#define LEAVING_COUNT_MAX 256
/* A block of the window that goes to a place elsewhere. */
struct leaving {
    uint32_t block;
    uint32_t place; /* the block that keeps the place until then; HBM_POOL_NONE: it has none */
    uint64_t size_bytes;
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

/* True if the demand has a place once those leave that have one, and the others close up.
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

static enum hbm_vacate_result try_windows(struct vacating *vacating, struct hbm_windows *windows)
{
    while (hbm_windows_next(windows, &vacating->wish, &vacating->window)) {
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
        if (!hbm_windows_go_on(windows, &vacating->wish, &vacating->window,
                               vacating->misfit_bytes)) {
            break;
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
    const bool repacks = hbm->options.defrag == HBM_DEFRAG_REPACK;
    const struct hbm_window_wish wish = {.heap = heap,
                                         .size_bytes = call->demand.size_bytes,
                                         .align_shift = call->demand.align_shift,
                                         .leaving_bytes_max = repacks ? hbm_heap_largest(heap) : 0,
                                         .filled_share = HBM_WINDOW_SHARE_WHOLE};
    struct hbm_windows windows;
    struct vacating vacating;
    vacating.hbm = hbm;
    vacating.refused = false;
    hbm_windows_begin(&windows, &wish);
    return try_windows(&vacating, &windows);
}
