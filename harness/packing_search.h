/* The exact searches behind packing_solve.  Only packing.c includes it, and the searches themselves. */
#ifndef HARNESS_PACKING_SEARCH_H
#define HARNESS_PACKING_SEARCH_H

#include "harness/packing.h"

/* The problem without addresses: sizes and capacities in granules, both descending. */
struct sizes {
    uint64_t *items;
    size_t item_count;
    uint64_t *bins;
    size_t bin_count;
    uint64_t slack; /* capacities less items */
};

/* Each adds its steps to *nodes and takes at most nodes_max of them; FITS and NONE are proofs. */

/* Item by item, largest first: strong where a few large items decide.  room: bin_count places, overwritten. */
enum packing_result packing_search_items(const struct sizes *sizes, uint64_t *room, uint64_t nodes_max,
                                         uint64_t *nodes);
/* Bin by bin, smallest first: strong where little may be wasted. */
enum packing_result packing_search_bins(const struct sizes *sizes, uint64_t nodes_max, uint64_t *nodes);
/* Place by place, for items with alignments above the granule; slack: granules that may be wasted. */
enum packing_result packing_search_aligned(const struct packing_problem *problem, uint64_t slack, uint64_t *nodes);

#endif
