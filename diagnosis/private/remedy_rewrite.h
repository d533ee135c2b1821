/* Writes a list anew, op by op: some left out, some changed, others put between, and a block or
 * program may be made a second time under the same name.  References are renumbered on the way. */
#ifndef DIAGNOSIS_PRIVATE_REMEDY_REWRITE_H
#define DIAGNOSIS_PRIVATE_REMEDY_REWRITE_H

#include "harness/op/op.h"

/* Promises of SPMD groups are left out: they hold for a list as it was recorded on all hosts, and a
 * variant is another. */
struct rewrite {
    const struct op_list *from;
    struct op_list *to; /* appended to */
    uint32_t *now;      /* from->count: by old number, the new number of what stands for the op now;
                           OP_NONE: nothing */
};
void rewrite_init(struct rewrite *rewrite, const struct op_list *from, struct op_list *to);
void rewrite_deinit(struct rewrite *rewrite);

/* Appends op number i of the old list as it is. */
void rewrite_keep(struct rewrite *rewrite, uint32_t i);
/* Appends op in the place of number i: whoever names i means it from now on.  Its references count
 * in the old list. */
void rewrite_as(struct rewrite *rewrite, uint32_t i, const struct op *op);
/* Appends an op that nobody will name.  References count in the old list. */
void rewrite_add(struct rewrite *rewrite, const struct op *op);
/* Appends an op of that kind on a block or program of the old list. */
void rewrite_add_on(struct rewrite *rewrite, enum op_kind kind, uint32_t ref);

#endif
