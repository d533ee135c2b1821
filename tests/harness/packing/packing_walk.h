/* Walks the search tree that a log describes, from docs/certificate.md alone. */
#ifndef TESTS_HARNESS_PACKING_PACKING_WALK_H
#define TESTS_HARNESS_PACKING_PACKING_WALK_H

#include "harness/oracle/packing/packing.h"

/* At most this many items and bins, and granules in a bin. */
enum { PROOF_ITEMS_MAX = 512, PROOF_BINS_MAX = 64, PROOF_GRANULES_MAX = 1 << 16 };

/* A log that is being read, and the question in granules: items and bins ascending when the walk
 * begins. */
struct walk {
    const char *letters;
    size_t length, at;
    const struct packing_problem *problem;
    uint64_t items[PROOF_ITEMS_MAX];
    uint64_t bins[PROOF_BINS_MAX];
    size_t item_count, bin_count;
    uint64_t slack;
    struct packing_bin spans[PROOF_BINS_MAX]; /* in the order of the walk */
    bool is_plain;
    struct {
        uint64_t size, align, count;
    } types[PROOF_ITEMS_MAX];
    size_t type_count, left;
};

/* Whether the log says that every way was tried and ended; is_plain: alignments play no part, nor
 * do items of fewer than least_bytes.  Changes *walk. */
bool walk_holds(struct walk *walk, bool is_plain, uint64_t least_bytes);

/* Of bins: shorter ones first, of equally long ones the higher first, as docs/certificate.md has
 * it. */
int packing_compare_spans(const void *a, const void *b);

#endif
