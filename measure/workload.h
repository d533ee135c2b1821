/* The ops of a steady state, drawn before any clock runs: on a device that is so full a random
 * block is freed and one of a new size allocated, again and again. */
#ifndef MEASURE_WORKLOAD_H
#define MEASURE_WORKLOAD_H

#include "harness/op/op.h"

#include <stdint.h>

/* ops[0, fill_count) allocate the first blocks; after them OP_FREE and OP_ALLOC take turns.  Every
 * ref is the index of the op that made the block, as in a recorded list. */
struct workload {
    struct op_list ops;
    uint32_t fill_count;
    uint64_t live_bytes; /* after the fill; about the same at each later moment */
};

/* No op asks for more: 11 powers of two above the granule, and 1e5 blocks still make an ordinary
 * device. */
#define WORKLOAD_SIZE_BYTES_MAX (UINT64_C(1) << 20)

/* The capacity of which live_bytes are full_percent, 1..100, rounded up to a multiple of 16384, so
 * of every granule in use. */
uint64_t workload_capacity_bytes(uint64_t live_bytes, uint32_t full_percent);

/* block_count live blocks, 1..2^24, and step_count frees with as many allocs after the fill. */
void workload_init(struct workload *workload, uint32_t block_count, uint32_t step_count,
                   uint64_t seed);
void workload_deinit(struct workload *workload);

#endif
