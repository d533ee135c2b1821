/* Room that is made by moving a few blocks: on heaps small enough to try every choice of blocks,
 * how many bytes libhbm moves for a request, and the fewest that do; on large ones, that every
 * request is met that can be. */
#include <check.h>

#include "allocator/private/heap.h"
#include "allocator/private/state.h"
#include "allocator/private/window.h"
#include "tests/allocator/hbm_rig.h"
#include "tests/helpers/suite.h"

enum { GRANULES = 24, LIVE_MAX = 10, DRAW_COUNT = 400, REQUEST_COUNT = 24 };

static struct hbm_rig rig;
/* A live buffer, in granules. */
struct live {
    struct hbm_buffer *buffer;
    uint64_t address, size;
    bool is_held;
};

struct heap {
    struct live live[LIVE_MAX];
    size_t count;
};

static void find_addresses(struct heap *heap)
{
    for (size_t i = 0; i < heap->count; i++) {
        heap->live[i].address = rig_at(&rig, heap->live[i].buffer) / RIG_GRANULE;
    }
}

/* ---- every choice ---- */

/* Whether the request fits when the blocks of `moved`, a bit each, may go anywhere, and the others
 * stay. */
static bool fits_when_moved(const struct heap *heap, uint32_t moved, uint64_t size)
{
    bool taken[GRANULES] = {false};
    uint64_t sizes[LIVE_MAX + 1] = {size}, rooms[GRANULES] = {0};
    size_t count = 1, room_count = 0;
    for (size_t i = 0; i < heap->count; i++) {
        if ((moved >> i & 1u) != 0) {
            sizes[count++] = heap->live[i].size;
            continue;
        }
        for (uint64_t k = 0; k < heap->live[i].size; k++) {
            taken[heap->live[i].address + k] = true;
        }
    }
    for (size_t at = 0; at < GRANULES; at++) {
        room_count += !taken[at] && (at == 0 || taken[at - 1]);
        if (!taken[at]) {
            rooms[room_count - 1]++;
        }
    }
    return can_be_packed(sizes, count, rooms, room_count);
}

/* UINT64_MAX: it fits nowhere. */
static uint64_t find_fewest_moved(const struct heap *heap, uint64_t size)
{
    uint64_t fewest = UINT64_MAX;
    for (uint32_t moved = 0; moved < 1u << heap->count; moved++) {
        uint64_t sum = 0;
        bool may_move = true;
        for (size_t i = 0; i < heap->count; i++) {
            sum += (moved >> i & 1u) != 0 ? heap->live[i].size : 0;
            may_move = may_move && ((moved >> i & 1u) == 0 || !heap->live[i].is_held);
        }
        if (may_move && sum < fewest && fits_when_moved(heap, moved, size)) {
            fewest = sum;
        }
    }
    return fewest;
}

/* ---- requests ---- */

struct sums {
    uint64_t moved, fewest;
    int request_count; /* that moved something */
};

static void free_one(struct heap *heap)
{
    const size_t i = draw_below(heap->count);
    if (heap->live[i].is_held) {
        ck_assert_int_eq(hbm_release(rig.hbm, heap->live[i].buffer), HBM_OK);
    }
    hbm_free(rig.hbm, heap->live[i].buffer);
    heap->live[i] = heap->live[--heap->count];
}

static void request_one(struct heap *heap, struct sums *sums)
{
    const uint64_t size = 1 + draw_below(draw_below(3) == 0 ? 12 : 5);
    const struct hbm_request request = {.size_bytes = size * RIG_GRANULE};
    struct live *live = &heap->live[heap->count];
    find_addresses(heap);
    const uint64_t fewest = find_fewest_moved(heap, size);
    const uint64_t before = rig_stats(&rig).bytes_moved;
    const enum hbm_result result = hbm_allocate(rig.hbm, &request, &live->buffer);
    ck_assert_int_eq(result, fewest == UINT64_MAX ? HBM_NO_MEMORY : HBM_OK);
    const uint64_t moved = (rig_stats(&rig).bytes_moved - before) / RIG_GRANULE;
    ck_assert(hbm_invariants_hold(rig.hbm));
    if (result != HBM_OK) {
        ck_assert_uint_eq(moved, 0);
        return;
    }
    ck_assert_uint_ge(moved, fewest);
    sums->moved += moved;
    sums->fewest += fewest;
    sums->request_count += fewest != 0;
    live->size = size;
    live->is_held = draw_below(6) == 0;
    if (live->is_held) {
        ck_assert_int_eq(hbm_hold(rig.hbm, live->buffer), HBM_OK);
    }
    heap->count++;
}

TEST(requests_move_at_most_a_tenth_more_than_the_fewest_bytes_that_do)
{
    struct sums sums = {0};
    random_state = 11;
    for (int i = 0; i < DRAW_COUNT; i++) {
        struct heap heap = {.count = 0};
        rig_start(&rig, GRANULES, HBM_DEFRAG_REPACK);
        for (int k = 0; k < REQUEST_COUNT; k++) {
            if (heap.count == LIVE_MAX || (heap.count > 0 && draw_below(3) == 0)) {
                free_one(&heap);
            } else {
                request_one(&heap, &sums);
            }
        }
        while (heap.count > 0) {
            free_one(&heap);
        }
        rig_stop(&rig);
    }
    ck_assert_int_gt(sums.request_count, DRAW_COUNT / 3);
    ck_assert_uint_le(sums.moved * 10, sums.fewest * 11);
}

/* ---- large heaps ---- */

enum { MANY = 400, STEP_COUNT = 1500, MANY_GRANULES = 4096, SIZE_OCTAVES = 6 };

struct crowd {
    struct hbm_buffer *buffers[MANY];
    bool is_held[MANY];
    int moved_count, refused_count; /* requests */
    bool is_mixed;                  /* some want more than granule alignment, some are held */
};

static void crowd_free(struct crowd *crowd, size_t i)
{
    if (crowd->buffers[i] == NULL) {
        return;
    }
    ck_assert(rig_stamp_holds(&rig, crowd->buffers[i], (unsigned char)i));
    if (crowd->is_held[i]) {
        ck_assert_int_eq(hbm_release(rig.hbm, crowd->buffers[i]), HBM_OK);
    }
    hbm_free(rig.hbm, crowd->buffers[i]);
    crowd->buffers[i] = NULL;
}

static void crowd_request(struct crowd *crowd, size_t i)
{
    const uint64_t octave = UINT64_C(1) << draw_below(SIZE_OCTAVES);
    const uint64_t size_bytes = (octave + draw_below(octave)) * RIG_GRANULE;
    const bool is_aligned = crowd->is_mixed && draw_below(8) == 0;
    const struct hbm_request request = {.size_bytes = size_bytes,
                                        .align_bytes = is_aligned ? 4 * RIG_GRANULE : 0};
    const struct hbm_stats before = rig_stats(&rig);
    const enum hbm_result result = hbm_allocate(rig.hbm, &request, &crowd->buffers[i]);
    const bool can_fit = before.bytes_limit - before.bytes_in_use >= size_bytes;
    /* The device stages no more blocks at a time. */
    ck_assert(result != HBM_UNAVAILABLE || rig.device.stage_outs > DEVICE_TOKENS_MAX);
    ck_assert(crowd->is_mixed ? can_fit || result != HBM_OK
                              : result == (can_fit ? HBM_OK : HBM_NO_MEMORY));
    if (result != HBM_OK) {
        crowd->buffers[i] = NULL;
        crowd->refused_count++;
        return;
    }
    crowd->moved_count += rig_stats(&rig).bytes_moved > before.bytes_moved;
    rig_stamp(&rig, crowd->buffers[i], (unsigned char)i);
    crowd->is_held[i] = crowd->is_mixed && draw_below(40) == 0;
    if (crowd->is_held[i]) {
        ck_assert_int_eq(hbm_hold(rig.hbm, crowd->buffers[i]), HBM_OK);
    }
}

/* 0: blocks slide; 1: they go anywhere; 2: some of them are aligned or stay. */
TEST(a_request_in_a_large_full_heap_is_met_whenever_enough_is_free, .to = 3)
{
    struct crowd crowd = {.is_mixed = _i == 2};
    random_state = 5;
    rig_start(&rig, MANY_GRANULES, _i == 0 ? HBM_DEFRAG_SLIDE : HBM_DEFRAG_REPACK);
    for (int step = 0; step < (crowd.is_mixed ? STEP_COUNT / 3 : STEP_COUNT); step++) {
        const size_t i = draw_below(MANY);
        crowd_free(&crowd, i);
        crowd_request(&crowd, i);
        ck_assert(step % 16 != 0 || hbm_invariants_hold(rig.hbm));
    }
    ck_assert_int_gt(crowd.moved_count, 10);
    ck_assert_int_gt(crowd.refused_count, 0);
    for (size_t i = 0; i < MANY; i++) {
        crowd_free(&crowd, i);
    }
    rig_stop(&rig);
}

/* ---- limits ---- */

/* Looks for a window for the size without a limit, and with limits at its cost and above. */
static bool check_limits(const struct hbm_window_wish *wish)
{
    struct hbm_window cheapest, window;
    if (!hbm_window_find(wish, UINT64_MAX, &cheapest)) {
        ck_assert(!hbm_window_find(wish, wish->heap->capacity_bytes, &window));
        return false;
    }
    const uint64_t bytes = cheapest.block_bytes;
    ck_assert(!hbm_window_find(wish, bytes, &window));
    if (hbm_window_find(wish, bytes + RIG_GRANULE, &window)) {
        ck_assert_uint_eq(window.address, cheapest.address);
        ck_assert_uint_eq(window.block_bytes, bytes);
        return true;
    }
    /* Holes far from the largest are looked at only where nothing is known. */
    ck_assert_uint_gt(hbm_pool_used_count(&wish->heap->pool), HBM_WINDOW_SMALL_COUNT);
    return false;
}

TEST(a_window_is_found_below_a_limit_when_it_costs_less)
{
    struct crowd crowd = {.is_mixed = false};
    int found_count = 0;
    random_state = 7;
    rig_start(&rig, MANY_GRANULES, HBM_DEFRAG_REPACK);
    for (int step = 0; step < STEP_COUNT; step++) {
        const size_t i = draw_below(MANY);
        crowd_free(&crowd, i);
        crowd_request(&crowd, i);
        const struct hbm_heap *heap = &rig.hbm->heap;
        const struct hbm_window_wish wish = {.heap = heap,
                                             .size_bytes = (1 + draw_below(64)) * RIG_GRANULE,
                                             .align_shift = heap->granule_shift,
                                             .leaving_bytes_max = hbm_heap_largest(heap),
                                             .filled_share = HBM_WINDOW_SHARE_WHOLE};
        found_count += check_limits(&wish);
    }
    ck_assert_int_gt(found_count, STEP_COUNT / 2);
    for (size_t i = 0; i < MANY; i++) {
        crowd_free(&crowd, i);
    }
    rig_stop(&rig);
}
