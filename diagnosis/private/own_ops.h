/* The ops of one host among those of all, and the lives of its blocks: what is noted for each of
 * them costs nothing for the ops of other hosts. */
#ifndef DIAGNOSIS_PRIVATE_OWN_OPS_H
#define DIAGNOSIS_PRIVATE_OWN_OPS_H

#include "diagnosis/evidence.h"

#define OWN_OP_NONE SIZE_MAX

/* count of each, by own op. */
struct own_ops {
    uint32_t *ops;  /* ascending: its number in the list */
    size_t *roots;  /* the own op that made the block it makes, names or took over by donation;
                       OWN_OP_NONE */
    uint32_t *ends; /* of roots: the op that freed the block; OP_NONE */
    size_t count;
};
void own_ops_init(struct own_ops *own, const struct evidence *evidence); /* O(ops log ops) */
void own_ops_deinit(struct own_ops *own);

/* Returns the place of the op among them; OWN_OP_NONE: it is of another host.  O(log count). */
size_t own_ops_find(const struct own_ops *own, uint32_t op);

/* Returns by how much the i-th of them changes what lives: what it allocates, or less what it
 * frees. *tag: that of the block, or of the op.  The op that is explained allocates nothing. */
int64_t own_ops_change(const struct own_ops *own, const struct evidence *evidence, size_t i,
                       uint8_t *tag);

#endif
