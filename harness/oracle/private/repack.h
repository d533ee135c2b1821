/* The question whether movable blocks and request can be packed into the spans of a reached state.
 */
#ifndef HARNESS_ORACLE_PRIVATE_REPACK_H
#define HARNESS_ORACLE_PRIVATE_REPACK_H

#include "harness/oracle/packing/packing.h"
#include "harness/oracle/reach.h"

/* Bins are the spans that are not empty; items the movable ranges in ascending order, then the
 * request (when it needs a block).  Zero is a valid start, memory stays from one question to the
 * next. */
struct repack {
    struct packing *packing;
    struct packing_bin *bins;
    struct packing_item *items;
    size_t bin_count, item_count, capacity;
};
void repack_deinit(struct repack *repack);

void repack_decide(struct repack *repack, const struct reach *reach, uint64_t nodes_max,
                   bool wants_proof, struct packing_answer *answer);

/* Return the sums of the last question's bins and items, each divided by unit and rounded down. */
uint64_t repack_bin_sum(const struct repack *repack, uint64_t unit);
uint64_t repack_item_sum(const struct repack *repack, uint64_t unit);
uint64_t repack_largest_item(const struct repack *repack); /* bytes; 0 = none */

#endif
