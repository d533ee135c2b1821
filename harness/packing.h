/* Whether items fit into bins: the exact question behind an OOM under the contract `repack`.  Bins are the
 * spans between unmovable blocks, items the movable blocks and the request. */
#ifndef HARNESS_PACKING_H
#define HARNESS_PACKING_H

#include <stddef.h>
#include <stdint.h>

struct packing_bin {
    uint64_t start, end; /* bytes; start <= end */
};
struct packing_item {
    uint64_t size_bytes;  /* a multiple of the granule, at least one */
    uint64_t align_bytes; /* a power of two, at least the granule */
};

enum packing_result { PACKING_FITS = 0, PACKING_NONE, PACKING_UNKNOWN };

struct packing_problem {
    const struct packing_bin *bins; /* bin_count of them, ascending, disjoint, bounds at multiples of the granule */
    size_t bin_count;
    const struct packing_item *items; /* item_count of them */
    size_t item_count;
    uint64_t granule_bytes;
    uint64_t nodes_max; /* the search's budget: a count, so that no verdict depends on the machine */
};

/* What settled it. */
struct packing_answer {
    enum packing_result result;
    uint64_t nodes;     /* items placed by the search */
    const char *method; /* "volume", "largest item", "best fit", "subset sums", "search", … */
};

/* Exact unless the budget ends.  Memory in proportion to items and bins is taken and given back.
 * NONE and FITS are proofs; UNKNOWN only when nodes_max is used up, or with alignments above the granule
 * among more than 4096 items. */
void packing_solve(const struct packing_problem *problem, struct packing_answer *answer);

#endif
