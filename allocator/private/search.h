/* An exact search: can items of given sizes be put into bins of given capacities?  It fills one bin
 * after the other, smallest first, and counts the bytes that closed bins leave unused: once they
 * exceed what all bins have to spare, no continuation can succeed.  Items of equal size are one
 * class, bins of equal capacity are filled in one order only, and a bin is closed only when nothing
 * left would still fit in it; what was tried in vain once is not tried again: the same items left
 * over for the next bins, or the same way to go on filling a bin too little.  Each loses no
 * solution, the last up to chance: states are remembered by 64-bit hashes. */
#ifndef ALLOCATOR_PRIVATE_SEARCH_H
#define ALLOCATOR_PRIVATE_SEARCH_H

#include "allocator/private/host.h"

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

#endif
