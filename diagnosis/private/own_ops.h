/* The ops of one host among those of all: what is noted for each of them costs nothing for the ops
 * of other hosts. */
#ifndef DIAGNOSIS_PRIVATE_OWN_OPS_H
#define DIAGNOSIS_PRIVATE_OWN_OPS_H

#include "harness/op/op.h"

#define OWN_OP_NONE SIZE_MAX

struct own_ops {
    uint32_t *ops; /* count of them, ascending: numbers in the list */
    size_t count;
};
void own_ops_init(struct own_ops *own, const struct op_list *ops, uint32_t host); /* O(ops) */
void own_ops_deinit(struct own_ops *own);

/* Which one of them the op is; OWN_OP_NONE: it is of another host.  O(log count). */
size_t own_ops_find(const struct own_ops *own, uint32_t op);

#endif
