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
#ifndef ALLOCATOR_PRIVATE_ALIGNED_H
#define ALLOCATOR_PRIVATE_ALIGNED_H

#include "allocator/private/plan.h"
#include "allocator/private/search.h"

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

#endif
