/* The shapes that blocks carry for reports, each kept once and counted. */
#ifndef ALLOCATOR_PRIVATE_SHAPES_H
#define ALLOCATOR_PRIVATE_SHAPES_H

#include "allocator/hbm_shape.h"
#include "allocator/private/pool.h"

/* Invariant: equal shapes have one record; references is the number of blocks that carry it. */
struct hbm_shapes {
    struct hbm_pool pool;
    uint32_t *buckets; /* [bucket_count], a power of two */
    uint32_t bucket_count;
};

bool hbm_shapes_init(struct hbm_shapes *shapes, struct hbm_host *host);
void hbm_shapes_deinit(struct hbm_shapes *shapes);

/* Counts a reference up and returns its number; HBM_POOL_NONE when host memory is refused. */
uint32_t hbm_shapes_take(struct hbm_shapes *shapes, const struct hbm_shape *shape);

/* Counts a reference down; 0 is ignored. */
void hbm_shapes_give(struct hbm_shapes *shapes, uint32_t number);

/* NULL for 0.  Valid until the reference is given back. */
const struct hbm_shape *hbm_shapes_at(const struct hbm_shapes *shapes, uint32_t number);

#endif
