#include "measure/workload.h"

#include "harness/base/check.h"
#include "harness/base/random.h"

#include <stdlib.h>

enum {
    SIZE_BYTES_MIN = 512,
    CAPACITY_MULTIPLE_BYTES = 16384,
};

static void append_alloc(struct workload *workload, uint64_t size_bytes)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size_bytes;
    op_list_append(&workload->ops, &op);
}

static void append_free(struct workload *workload, uint32_t ref)
{
    struct op op = op_make(OP_FREE);
    op.ref = ref;
    op_list_append(&workload->ops, &op);
}

static uint64_t draw_size_bytes(struct random *random)
{
    return random_log_uniform(random, SIZE_BYTES_MIN, WORKLOAD_SIZE_BYTES_MAX);
}

uint64_t workload_capacity_bytes(uint64_t live_bytes, uint32_t full_percent)
{
    CHECK(full_percent >= 1 && full_percent <= 100);
    const uint64_t capacity_bytes = live_bytes / full_percent * 100;
    return (capacity_bytes / CAPACITY_MULTIPLE_BYTES + 1) * CAPACITY_MULTIPLE_BYTES;
}

void workload_init(struct workload *workload, uint32_t block_count, uint32_t step_count,
                   uint64_t seed)
{
    CHECK(block_count >= 1 && block_count <= 1u << 24);
    struct random random;
    random_init(&random, seed);
    op_list_init(&workload->ops);
    uint32_t *maker = calloc(block_count,
                             sizeof *maker); /* the op that made the block in each slot */
    CHECK(maker != NULL);
    uint64_t live_bytes = 0;
    for (uint32_t i = 0; i < block_count; i++) {
        const uint64_t size_bytes = draw_size_bytes(&random);
        live_bytes += size_bytes;
        maker[i] = i;
        append_alloc(workload, size_bytes);
    }
    for (uint32_t i = 0; i < step_count; i++) {
        const uint32_t slot = (uint32_t)random_below(&random, block_count);
        append_free(workload, maker[slot]);
        maker[slot] = (uint32_t)workload->ops.count;
        append_alloc(workload, draw_size_bytes(&random));
    }
    free(maker);
    workload->fill_count = block_count;
    workload->live_bytes = live_bytes;
}

void workload_deinit(struct workload *workload)
{
    op_list_deinit(&workload->ops);
}
