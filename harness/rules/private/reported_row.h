/* What a row of the allocations report says of a block. */
#ifndef HARNESS_RULES_PRIVATE_REPORTED_ROW_H
#define HARNESS_RULES_PRIVATE_REPORTED_ROW_H

#include "harness/model/model.h"

/* Whether all that the row says is so of the block, its address left out. */
static inline bool reported_row_is_of(const struct target_row *row, const struct block *block)
{
    return block->size_bytes == row->size_bytes && (enum block_kind)block->kind == row->kind &&
           (row->kind == BLOCK_PROGRAM || row->kind == BLOCK_RETIRED || /* neither is told a tag */
            block->tag == row->tag);
}

#endif
