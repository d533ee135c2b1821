#include "diagnosis/private/own_ops.h"

#include "harness/base/check.h"
#include "harness/base/search.h"

#include <stdlib.h>
#include <string.h>

static bool makes_block(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
}

static bool frees_block(const struct op *op)
{
    return op->kind == OP_FREE || op->kind == OP_FREE_AFTER;
}

static void collect_ops(struct own_ops *own, const struct op_list *ops, uint32_t host)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].host == host) {
            own->ops[own->count++] = (uint32_t)i;
        }
    }
}

static void follow_lives(struct own_ops *own, const struct op_list *ops)
{
    for (size_t i = 0; i < own->count; i++) {
        const uint32_t number = own->ops[i];
        const struct op *op = &ops->ops[number];
        const size_t named = op->ref < number ? own_ops_find(own, op->ref) : OWN_OP_NONE;
        own->roots[i] = makes_block(op)        ? i
                        : named == OWN_OP_NONE ? OWN_OP_NONE
                                               : own->roots[named];
        if (frees_block(op) && own->roots[i] != OWN_OP_NONE &&
            own->ends[own->roots[i]] == OP_NONE) {
            own->ends[own->roots[i]] = number;
        }
    }
}

void own_ops_init(struct own_ops *own, const struct evidence *evidence)
{
    const struct op_list *ops = evidence->ops;
    *own = (struct own_ops){.ops = calloc(ops->count + 1, sizeof *own->ops)};
    CHECK(own->ops != NULL);
    collect_ops(own, ops, evidence->host);
    own->roots = calloc(own->count + 1, sizeof *own->roots);
    own->ends = malloc((own->count + 1) * sizeof *own->ends);
    CHECK(own->roots != NULL && own->ends != NULL);
    memset(own->ends, 0xFF, (own->count + 1) * sizeof *own->ends); /* OP_NONE */
    follow_lives(own, ops);
}

void own_ops_deinit(struct own_ops *own)
{
    free(own->ops);
    free(own->roots);
    free(own->ends);
    *own = (struct own_ops){0};
}

size_t own_ops_find(const struct own_ops *own, uint32_t op)
{
    size_t i;
    SEARCH_FIRST(i, 0, own->count, own->ops[i] >= op);
    return i < own->count && own->ops[i] == op ? i : OWN_OP_NONE;
}

int64_t own_ops_change(const struct own_ops *own, const struct evidence *evidence, size_t i,
                       uint8_t *tag)
{
    const struct op_list *ops = evidence->ops;
    const struct op *op = &ops->ops[own->ops[i]];
    const size_t root = own->roots[i];
    *tag = op->tag;
    if (makes_block(op)) {
        return op == evidence->op ? 0 : (int64_t)op->size_bytes;
    }
    if (root == OWN_OP_NONE || !frees_block(op)) {
        return 0;
    }
    const struct op *maker = &ops->ops[own->ops[root]];
    *tag = maker->tag;
    return own->ends[root] == own->ops[i] ? -(int64_t)maker->size_bytes : 0;
}
