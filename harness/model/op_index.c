#include "harness/model/private/op_index.h"

#include "harness/base/array.h"
#include "harness/base/often.h"

#include <stdlib.h>
#include <string.h>

enum { CHAIN_COUNT_MIN = 64, SHIFT_MAX = 26 };

void op_index_deinit(struct op_index *index)
{
    free(index->heads);
    *index = (struct op_index){0};
}

SELDOM void op_index_grow(struct op_index *index, struct block *blocks)
{
    const struct op_index before = *index;
    const size_t count = before.heads == NULL ? CHAIN_COUNT_MIN : before.chain_count * 2;
    index->shift = before.heads == NULL ? SHIFT_MAX : before.shift - 1;
    index->chain_count = count;
    index->count = 0;
    index->heads = array_resized(NULL, count * sizeof *index->heads);
    memset(index->heads, 0xFF, count * sizeof *index->heads);
    for (size_t i = 0; i < before.chain_count; i++) {
        uint32_t slot = before.heads[i];
        while (slot != SLOT_NONE) {
            const uint32_t next = blocks[slot].next_of_op;
            op_index_add(index, blocks, slot);
            slot = next;
        }
    }
    CHECK(index->count == before.count);
    free(before.heads);
}
