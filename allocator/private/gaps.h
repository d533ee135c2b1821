/* Searches for a layout of blocks that want more than granule alignment, which find layouts and
 * prove nothing: each block goes to one end of the gap that suits it best, and the small ones fill
 * what alignment leaves between the large ones.  Where most of the room is in such gaps, an exact
 * search from the bottom up is long lost among the orders of the small blocks. */
#ifndef ALLOCATOR_PRIVATE_GAPS_H
#define ALLOCATOR_PRIVATE_GAPS_H

#include "allocator/private/aligned.h"

/* The present places of the blocks of such a search: items number places[0 .. count - 1] in address
 * order, the others nowhere yet. */
struct hbm_gaps_now {
    const uint64_t *addresses; /* [item_count]; of those without a place: anything */
    const uint32_t *places;    /* [count] */
    size_t count; /* item_count or one less: then places[item_count - 1] is the demand */
};

/* Both take input and give output as hbm_aligned_run does, but for nodes_max: gaps that may be
 * looked at, after which no order is begun; one that was begun may look at 64 times as many.  The
 * spans are in address order. HBM_SEARCH_FOUND, HBM_SEARCH_UNKNOWN, or HBM_SEARCH_REFUSED.  The
 * same each time, for the same input. */

/* Keeps all blocks where they are but those in one window, which the demand takes, and those
 * outside of all spans.  Of the windows whose blocks all find another gap the one with the fewest
 * bytes to move. */
enum hbm_search_result hbm_gaps_clear(const struct hbm_aligned *search,
                                      const struct hbm_gaps_now *now);

/* Begins with nothing in place, largest first; a block that finds no gap comes earlier in the next
 * round. */
enum hbm_search_result hbm_gaps_fill(const struct hbm_aligned *search);

#endif
