#include "allocator/private/window.h"

#include <string.h>

#include "allocator/private/bins.h"

/* This many tries count on all holes being filled, in a heap that is not small. */
#define HOPEFUL_TRIES_MAX 1u

#define NO_CANDIDATE SIZE_MAX

static void add_candidate(struct hbm_windows *windows, const struct hbm_window_wish *wish)
{
    HBM_CHECK(windows->count < HBM_WINDOWS_COUNT_MAX);
    struct hbm_window_candidate *candidate = &windows->candidates[windows->count++];
    candidate->wish = *wish;
    candidate->least_bytes = 0;
    candidate->is_found = false;
}

void hbm_windows_begin(struct hbm_windows *windows, const struct hbm_window_wish *wish)
{
    windows->count = windows->try_count = 0;
    windows->is_small = hbm_pool_used_count(&wish->heap->pool) <= HBM_WINDOW_SMALL_COUNT;
    add_candidate(windows, wish);
}

/* ---- the cheapest ---- */

static size_t find_cheapest_found(const struct hbm_windows *windows)
{
    size_t best = NO_CANDIDATE;
    for (size_t i = 0; i < windows->count; i++) {
        const struct hbm_window_candidate *candidate = &windows->candidates[i];
        if (candidate->is_found &&
            (best == NO_CANDIDATE ||
             candidate->least_bytes < windows->candidates[best].least_bytes)) {
            best = i;
        }
    }
    return best;
}

/* The first that is not found yet, and may cost less. */
static size_t find_open(const struct hbm_windows *windows, uint64_t limit_bytes)
{
    for (size_t i = 0; i < windows->count; i++) {
        const struct hbm_window_candidate *candidate = &windows->candidates[i];
        if (!candidate->is_found && candidate->least_bytes < limit_bytes) {
            return i;
        }
    }
    return NO_CANDIDATE;
}

static void remove_candidate(struct hbm_windows *windows, size_t at)
{
    HBM_CHECK(at < windows->count);
    windows->count--;
    memmove(&windows->candidates[at], &windows->candidates[at + 1],
            (windows->count - at) * sizeof windows->candidates[at]);
}

static void look_for_window(struct hbm_windows *windows, size_t at, uint64_t limit_bytes)
{
    struct hbm_window_candidate *candidate = &windows->candidates[at];
    candidate->is_found = hbm_window_find(&candidate->wish, limit_bytes, &candidate->window);
    candidate->least_bytes = candidate->is_found ? candidate->window.block_bytes : limit_bytes;
    if (!candidate->is_found && limit_bytes == UINT64_MAX) {
        remove_candidate(windows, at);
    }
}

bool hbm_windows_next(struct hbm_windows *windows, struct hbm_window_wish *wish,
                      struct hbm_window *window)
{
    while (windows->count != 0) {
        const size_t best = find_cheapest_found(windows);
        const uint64_t limit_bytes = best == NO_CANDIDATE ? UINT64_MAX
                                                          : windows->candidates[best].least_bytes;
        const size_t open = find_open(windows, limit_bytes);
        if (open != NO_CANDIDATE) {
            look_for_window(windows, open, limit_bytes);
            continue;
        }
        *wish = windows->candidates[best].wish;
        *window = windows->candidates[best].window;
        remove_candidate(windows, best);
        return true;
    }
    return false;
}

/* ---- after a window whose blocks could not leave ---- */

/* Estimates how many bytes of blocks of at most some size the holes have room for: in each that is
 * as large, half such a block is lost. */
struct estimate {
    uint64_t sizes[HBM_WINDOWS_SIZE_COUNT];
    uint64_t bytes[HBM_WINDOWS_SIZE_COUNT];
};

static bool add_hole(const struct hbm_block *hole, const void *context)
{
    struct estimate *estimate = *(struct estimate *const *)context;
    for (unsigned i = 0; i < HBM_WINDOWS_SIZE_COUNT; i++) {
        const bool is_useful = hole->size_bytes >= estimate->sizes[i];
        estimate->bytes[i] += is_useful ? hole->size_bytes - estimate->sizes[i] / 2 : 0;
    }
    return false;
}

/* Windows whose blocks of up to several sizes leave, as far as all holes have room for such. */
static void add_estimated_candidates(struct hbm_windows *windows,
                                     const struct hbm_window_wish *failed)
{
    const struct hbm_heap *heap = failed->heap;
    struct hbm_window_wish wish = *failed;
    struct estimate estimate = {.sizes = {0}};
    struct estimate *pointer = &estimate;
    unsigned count = 0;
    for (uint64_t bytes = windows->misfit_bytes - 1;
         count < HBM_WINDOWS_SIZE_COUNT && bytes >> heap->granule_shift != 0; bytes /= 4) {
        estimate.sizes[count++] = bytes;
    }
    if (count == 0) {
        return;
    }
    (void)hbm_bins_scan(heap, estimate.sizes[count - 1], UINT64_MAX, add_hole, &pointer);
    wish.above_bytes = wish.above_address = 0;
    for (unsigned i = 0; i < count; i++) {
        wish.leaving_bytes_max = estimate.sizes[i];
        wish.filled_share = (uint32_t)(estimate.bytes[i] /
                                       (hbm_window_free_bytes(heap) / HBM_WINDOW_SHARE_WHOLE + 1));
        add_candidate(windows, &wish);
    }
}

/* The next cheapest, one whose block without a place stays, or one that counts on less of the
 * holes. */
static void add_more_candidates(struct hbm_windows *windows, const struct hbm_window_wish *failed,
                                const struct hbm_window *window, uint64_t misfit_bytes)
{
    struct hbm_window_wish wish = *failed;
    if (wish.filled_share != HBM_WINDOW_SHARE_WHOLE) {
        wish.filled_share -= (wish.filled_share + 3) / 4;
        add_candidate(windows, &wish);
    } else if (windows->is_small || windows->try_count <= HOPEFUL_TRIES_MAX) {
        wish.above_bytes = window->block_bytes;
        wish.above_address = window->address;
        add_candidate(windows, &wish);
        if (misfit_bytes != 0) {
            wish.leaving_bytes_max = misfit_bytes - 1;
            add_candidate(windows, &wish);
        }
    }
}

/* Adds a candidate in which all blocks stay, as they can wherever a slide suffices. */
static void add_last_candidate(struct hbm_windows *windows, const struct hbm_window_wish *failed)
{
    struct hbm_window_wish wish = *failed;
    windows->count = 0;
    wish.leaving_bytes_max = wish.above_bytes = wish.above_address = 0;
    add_candidate(windows, &wish);
}

bool hbm_windows_go_on(struct hbm_windows *windows, const struct hbm_window_wish *wish,
                       const struct hbm_window *window, uint64_t misfit_bytes)
{
    if (wish->leaving_bytes_max == 0) {
        return false;
    }
    const unsigned tries_max = windows->is_small ? HBM_WINDOWS_TRIES_MAX_SMALL
                                                 : HBM_WINDOWS_TRIES_MAX;
    windows->misfit_bytes = windows->try_count == 0 ? misfit_bytes : windows->misfit_bytes;
    if (++windows->try_count < tries_max) {
        add_more_candidates(windows, wish, window, misfit_bytes);
        if (windows->count == 0 && windows->misfit_bytes != 0) {
            add_estimated_candidates(windows, wish);
            windows->misfit_bytes = 0;
        }
    }
    if (windows->try_count == tries_max || windows->count == 0) {
        add_last_candidate(windows, wish);
    }
    return true;
}
