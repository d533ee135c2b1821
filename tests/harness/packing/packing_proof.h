/* Checks what packing_solve says to prove an answer, from docs/certificate.md alone. */
#ifndef TESTS_HARNESS_PACKING_PACKING_PROOF_H
#define TESTS_HARNESS_PACKING_PACKING_PROOF_H

#include "harness/oracle/packing/packing.h"

/* What is wrong with the proof of the last answer, which was asked for with wants_proof; NULL when
 * it holds. UNKNOWN needs none. */
const char *packing_proof_fault(const struct packing *packing,
                                const struct packing_problem *problem,
                                const struct packing_answer *answer);

/* --- proofs of one kind each --- */

/* The table of docs/certificate.md: whether so many sets are reached, and that of all items is not.
 * For some thousand sets. */
bool packing_table_holds(const struct packing_problem *problem, uint64_t sets);

/* The sums that items have, one byte for each: whether the numbers are right, and refute.  Up to
 * 2^27 sums, in five bytes for each. */
bool packing_fills_hold(const struct packing_problem *problem, const struct packing_fills *fills);

/* Which choices of items bins can hold together, by trying all sums of all choices: whether so many
 * choices are reached before no choice is left. */
bool packing_patterns_hold(const struct packing_problem *problem, uint64_t sets);

/* --- the search tree that a log describes --- */

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
