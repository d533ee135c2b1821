/* The records of blocks, in the order of their addresses, and the largest gap between them. */
#ifndef KIT_PRIVATE_BLOCKS_H
#define KIT_PRIVATE_BLOCKS_H

#include "kit/kit.h"

/* An event that a block waits for, in the list of all that are not known to be done. */
struct kit_pending {
    struct kit_pending *next, **link; /* *link points here */
    struct kit_block *block;
    uint64_t event;
    bool is_lost; /* no waiting completes it */
};

/* One block, from its allocation until it is given back to the allocator. */
struct kit_block {
    struct target_block at;
    enum block_kind kind;
    uint32_t tag;
    bool is_freed; /* goes when nothing holds it and nothing is pending */
    uint64_t hold_count, pending_count;
    uint64_t lost_count; /* of the pending ones */
    struct kit_pending free_event;
    /* A treap by address.  Blocks of a broken allocator may overlap; the serial orders them then.
     */
    struct kit_block *left, *right;
    uint64_t serial;
    uint64_t span_start, span_end; /* of the block and all below it in the tree */
    uint64_t gap_bytes;            /* the largest one inside the span */
};

void kit_blocks_insert(struct kit_block **root, struct kit_block *block);
/* The block must be in the tree. */
void kit_blocks_remove(struct kit_block **root, struct kit_block *block);
/* The one that begins at the address; NULL: none does. */
const struct kit_block *kit_blocks_find(const struct kit_block *root, uint64_t address);
/* The largest range of [start, end) that no block covers, as blocks are counted from their
 * addresses; where blocks overlap it may be less than what this returns. */
uint64_t kit_blocks_largest_gap(const struct kit_block *root, uint64_t start, uint64_t end);

#endif
