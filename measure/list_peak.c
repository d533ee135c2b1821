#include "measure/list_peak.h"

#include "harness/base/check.h"

#include <stdlib.h>

bool list_op_is_request(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD;
}

bool list_op_ends(const struct op *op)
{
    return op->kind == OP_FREE || op->kind == OP_FREE_AFTER || op->kind == OP_UNLOAD;
}

struct list_peak list_peak_find(const struct op_list *ops)
{
    struct list_peak peak = {.op = OP_NONE};
    uint64_t held_bytes = 0;
    uint64_t *sizes = calloc(ops->count + 1, sizeof *sizes); /* by op; 0 = it holds nothing */
    CHECK(sizes != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if (list_op_is_request(op)) {
            sizes[i] = op->size_bytes;
            held_bytes += sizes[i];
        } else if (op->kind == OP_DONATE && op->ref < i) {
            sizes[i] = sizes[op->ref]; /* the block is the same */
            sizes[op->ref] = 0;
        } else if (list_op_ends(op) && op->ref < i) {
            held_bytes -= sizes[op->ref];
            sizes[op->ref] = 0;
        }
        if (held_bytes > peak.bytes) {
            peak = (struct list_peak){held_bytes, (uint32_t)i};
        }
    }
    free(sizes);
    return peak;
}
