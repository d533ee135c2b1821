/* The slot of a block by the op that made it: chains through the blocks themselves, so that nothing
 * is moved when one goes. */
#ifndef HARNESS_MODEL_PRIVATE_OP_INDEX_H
#define HARNESS_MODEL_PRIVATE_OP_INDEX_H

#include "harness/base/check.h"
#include "harness/model/model.h"

/* A chain has at most one block on average; a zeroed index is empty.  Its memory follows the most
 * blocks that it ever had. */
struct op_index {
    uint32_t *heads; /* 2^(32 - shift) of them: slots, or SLOT_NONE; NULL: none yet */
    uint32_t shift;  /* of a product of which the top bits choose the chain */
    size_t count, chain_count;
};
void op_index_deinit(struct op_index *index);
/* Twice as many chains. */
void op_index_grow(struct op_index *index, struct block *blocks);

/* The chain of the op.  The golden ratio of 32 bits: ops that follow each other lie apart. */
static inline uint32_t *op_index_head(const struct op_index *index, uint32_t op)
{
    return &index->heads[op * UINT32_C(0x9E3779B1) >> index->shift];
}

/* SLOT_NONE: the op made none that is there.  O(1) on average, as all of these. */
static inline uint32_t op_index_find(const struct op_index *index, const struct block *blocks,
                                     uint32_t op)
{
    uint32_t slot = index->count == 0 ? SLOT_NONE : *op_index_head(index, op);
    while (slot != SLOT_NONE && blocks[slot].op != op) {
        slot = blocks[slot].next_of_op;
    }
    return slot;
}

/* blocks[slot].op is set, and made no other. */
static inline void op_index_add(struct op_index *index, struct block *blocks, uint32_t slot)
{
    CHECK_COSTLY(op_index_find(index, blocks, blocks[slot].op) == SLOT_NONE);
    if (index->count == index->chain_count) {
        op_index_grow(index, blocks);
    }
    uint32_t *head = op_index_head(index, blocks[slot].op);
    blocks[slot].next_of_op = *head;
    *head = slot;
    index->count++;
}

/* It is there. */
static inline void op_index_remove(struct op_index *index, struct block *blocks, uint32_t slot)
{
    uint32_t *link = op_index_head(index, blocks[slot].op);
    while (*link != slot) {
        CHECK(*link != SLOT_NONE);
        link = &blocks[*link].next_of_op;
    }
    *link = blocks[slot].next_of_op;
    index->count--;
}

#endif
