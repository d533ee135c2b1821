/* Tries windows one after the other so that a demand has room: the cheapest first. */
#ifndef ALLOCATOR_PRIVATE_WINDOWS_H
#define ALLOCATOR_PRIVATE_WINDOWS_H

#include "allocator/private/window.h"

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
