/* The searches for a packing: exact by sums, exact by places, and two that prove nothing. */
#ifndef ALLOCATOR_PRIVATE_SEARCH_H
#define ALLOCATOR_PRIVATE_SEARCH_H

#include "allocator/private/base.h"
#include "allocator/private/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An exact search: can items of given sizes be put into bins of given capacities?  It fills one bin
 * after the other, smallest first, and counts the bytes that closed bins leave unused: once they
 * exceed what all bins have to spare, no continuation can succeed.  Items of equal size are one
 * class, bins of equal capacity are filled in one order only, and a bin is closed only when nothing
 * left would still fit in it; what was tried in vain once is not tried again: the same items left
 * over for the next bins, or the same way to go on filling a bin too little.  Each loses no
 * solution, the last up to chance: states are remembered by 64-bit hashes. */

enum hbm_search_result {
    HBM_SEARCH_FOUND,
    HBM_SEARCH_NONE,    /* proved */
    HBM_SEARCH_UNKNOWN, /* the budget ended */
    HBM_SEARCH_REFUSED, /* no host memory to search in */
};

/* Input: sizes in descending order, capacities in ascending order.  found is told the
 * packing, if any: bins[i] is the bin of item i. */
struct hbm_search {
    const uint64_t *sizes; /* [item_count] */
    size_t item_count;
    const uint64_t *capacities; /* [bin_count] */
    size_t bin_count;
    uint64_t nodes_max;
    void (*found)(void *context, const uint32_t *bins);
    void *context;
    struct hbm_host *host;
};

enum hbm_search_result hbm_search_run(const struct hbm_search *search);

/* An exact search for blocks that want more than granule alignment: can blocks of given sizes and
 * alignments be laid out in given spans?  It fills one span after the other, from the bottom up,
 * block by block, and counts the bytes that alignment and closed spans leave unused: once they
 * exceed what all spans have to spare, no continuation can succeed.  Blocks of equal size and
 * alignment are one type.  Three prunings lose no solution: of two neighbours only the order that
 * ends lower is tried (at a tie the one with the lower type first); a span is closed only when
 * nothing left would still fit at its end; and blocks that were left over once in vain, at some
 * place, are not tried again at the same or a higher place.  The last is remembered by a 64-bit
 * hash, so that a proof can be wrong with a chance below nodes_max / 2^64.
 *
 * Why the prunings agree with each other: read a layout from its last block to its first as pairs
 * (end of the block, minus its type), ends of later spans being higher.  Whatever is pruned can be
 * replaced by a layout that reads lower at or behind the place of the pruning, and equal or lower
 * behind that; so the layout that reads lowest of all is never pruned. */

/* Input: items sorted by size and alignment, so that equal ones are neighbours; spans in the order
 * in which they are filled, smallest first.  Output, when found: an address for each item. */
struct hbm_aligned {
    const uint64_t *sizes; /* [item_count] */
    const uint8_t *shifts; /* [item_count] */
    size_t item_count;
    const struct hbm_span *spans; /* the caller's, by number */
    const uint32_t *span_order;   /* [span_count]: numbers of spans */
    size_t span_count;
    uint64_t nodes_max;
    uint64_t *addresses; /* [item_count] */
    struct hbm_host *host;
};

enum hbm_search_result hbm_aligned_run(const struct hbm_aligned *search);

/* Searches for a layout of blocks that want more than granule alignment, which find layouts and
 * prove nothing: each block goes to one end of the gap that suits it best, and the small ones fill
 * what alignment leaves between the large ones.  Where most of the room is in such gaps, an exact
 * search from the bottom up is long lost among the orders of the small blocks. */

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

/* A search that finds packings and proves nothing: can items of given sizes be put into bins of
 * given capacities?  All items lie in bins from the start, some of which hold too much; then up to
 * three items of such a bin change places with up to three of another one, whichever exchange takes
 * most off what is too much.  With many sizes there are so many differences between their sums that
 * even heaps with a ten-thousandth to spare are packed within some hundred thousand steps, where an
 * exact search, which fills bin by bin, is left with the wrong items for its last bins. */

enum { HBM_EXCHANGE_ITEMS = 3, HBM_EXCHANGE_SUMS = 512 };

/* The sum of some items of one bin. */
struct hbm_exchange_sum {
    uint64_t bytes;
    uint32_t items[HBM_EXCHANGE_ITEMS]; /* fewer: UINT32_MAX for those that are not there */
};

/* The sums of a bin: of no item, of each, of each two, of each three, as far as there is room. */
struct hbm_exchange_list {
    struct hbm_exchange_sum sums[HBM_EXCHANGE_SUMS];
    uint32_t order[HBM_EXCHANGE_SUMS]; /* ascending */
    size_t count;
};

/* Input: sizes in descending order, capacities in ascending order, the sum of either below 2^63.
 * The arrays are the caller's.  steps, attempt and lot begin at 0 and go on from call to call. */
struct hbm_exchange {
    const uint64_t *sizes; /* [item_count] */
    size_t item_count;
    const uint64_t *capacities; /* [bin_count] */
    size_t bin_count;
    uint32_t *bins;                  /* [item_count]: of each item, the answer */
    int64_t *room;                   /* [bin_count]: below 0 while a bin holds too much */
    uint32_t *first, *next;          /* [bin_count], [item_count]: the items of each bin */
    struct hbm_exchange_list *lists; /* [2] */
    uint64_t steps,
        steps_max; /* exchanges and sums, and bins for each item of a start, that were looked at */
    uint32_t attempt, lot;
};

/* Another packing; false when the steps are used up.  The same each time, for the same input. */
bool hbm_exchange_next(struct hbm_exchange *exchange);

#endif
