/* A search that finds packings and proves nothing: can items of given sizes be put into bins of
 * given capacities?  All items lie in bins from the start, some of which hold too much; then up to
 * three items of such a bin change places with up to three of another one, whichever exchange takes
 * most off what is too much.  With many sizes there are so many differences between their sums that
 * even heaps with a ten-thousandth to spare are packed within some hundred thousand steps, where an
 * exact search, which fills bin by bin, is left with the wrong items for its last bins. */
#ifndef ALLOCATOR_PRIVATE_EXCHANGE_H
#define ALLOCATOR_PRIVATE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
