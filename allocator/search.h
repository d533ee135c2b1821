/* An exact search: can items of given sizes be put into bins of given capacities?  It fills one bin
 * after the other, smallest first, and counts the bytes that closed bins leave unused: once they
 * exceed what all bins have to spare, no continuation can succeed.  Items of equal size are one
 * class, bins of equal capacity are filled in one order only, and a bin is closed only when nothing
 * left would still fit in it; each loses no solution. */
#ifndef HBM_SEARCH_H
#define HBM_SEARCH_H

#include "allocator/host.h"

enum hbm_search_result {
    HBM_SEARCH_FOUND,
    HBM_SEARCH_NONE,    /* proved */
    HBM_SEARCH_UNKNOWN, /* the budget ended */
    HBM_SEARCH_REFUSED, /* no host memory to search in */
};

/* Input: sizes in descending order, capacities in ascending order.  accept is asked about each
 * packing found (bins[i] is the bin of item i) and may send the search on by answering false. */
struct hbm_search {
    const uint64_t *sizes;      /* [item_count] */
    size_t item_count;
    const uint64_t *capacities; /* [bin_count] */
    size_t bin_count;
    uint64_t nodes_max;
    bool (*accept)(void *context, const uint32_t *bins);
    void *context;
    struct hbm_host *host;
};

enum hbm_search_result hbm_search_run(const struct hbm_search *search);

#endif
