#include "diagnosis/private/remedy_rewrite.h"

#include "harness/base/check.h"

#include <stdlib.h>

void rewrite_init(struct rewrite *rewrite, const struct op_list *from, struct op_list *to)
{
    *rewrite = (struct rewrite){.from = from, .to = to};
    rewrite->now = malloc((from->count + 1) * sizeof *rewrite->now);
    CHECK(rewrite->now != NULL);
    for (size_t i = 0; i < from->count; i++) {
        rewrite->now[i] = OP_NONE;
    }
}

void rewrite_deinit(struct rewrite *rewrite)
{
    free(rewrite->now);
    *rewrite = (struct rewrite){0};
}

static uint32_t renumber_ref(const struct rewrite *rewrite, uint32_t old)
{
    return old < rewrite->from->count ? rewrite->now[old] : OP_NONE;
}

void rewrite_add(struct rewrite *rewrite, const struct op *op)
{
    struct op put = *op;
    put.ref = renumber_ref(rewrite, op->ref);
    put.event = renumber_ref(rewrite, op->event);
    /* An op whose event went must not turn into one with an event of its own. */
    if (op->event != OP_NONE && put.event == OP_NONE) {
        put.ref = OP_NONE;
    }
    put.flags &= (uint8_t)~OP_SPMD;
    put.group = (put.flags & OP_COLLECTIVE) != 0 ? put.group : 0;
    op_list_append(rewrite->to, &put);
}

void rewrite_as(struct rewrite *rewrite, uint32_t i, const struct op *op)
{
    CHECK(i < rewrite->from->count);
    rewrite_add(rewrite, op);
    rewrite->now[i] = (uint32_t)(rewrite->to->count - 1);
}

void rewrite_keep(struct rewrite *rewrite, uint32_t i)
{
    CHECK(i < rewrite->from->count);
    rewrite_as(rewrite, i, &rewrite->from->ops[i]);
}

void rewrite_add_on(struct rewrite *rewrite, enum op_kind kind, uint32_t ref)
{
    CHECK(ref < rewrite->from->count);
    struct op op = op_make(kind);
    op.ref = ref;
    op.host = rewrite->from->ops[ref].host;
    rewrite_add(rewrite, &op);
}
