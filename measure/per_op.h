/* Nanoseconds of processor time per op of a workload: through a target's table alone, through the
 * whole harness, and with nothing called at all. */
#ifndef MEASURE_PER_OP_H
#define MEASURE_PER_OP_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/target.h"

#include <stdint.h>

/* --- the workload --- */

/* The ops of a steady state, drawn before any clock runs: on a device that is so full a random
 * block is freed and one of a new size allocated, again and again.
 * ops[0, fill_count) allocate the first blocks; after them OP_FREE and OP_ALLOC take turns.  Every
 * ref is the index of the op that made the block, as in a recorded list. */
struct op_workload {
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
void workload_init(struct op_workload *workload, uint32_t block_count, uint32_t step_count,
                   uint64_t seed);
void workload_deinit(struct op_workload *workload);

/* --- the measurements --- */

enum { MEASURE_NOTE_BYTES = 256 };

/* One measurement: the ops after the fill, or as many of them as the time allowed. */
struct measurement {
    double ns_per_op;       /* a free or an alloc; the median of the repeats */
    double ns_least;        /* the same of the fastest; both meaningless when op_count is 0 */
    uint64_t op_count;      /* of the median repeat */
    uint64_t refused_count; /* allocs that were refused, in the same */
    char
        note[MEASURE_NOTE_BYTES]; /* what ended it early, such as a broken rule; "" = nothing did */
};

/* Each repeat starts anew: it fills the device and then runs for second_count_max at most.  None
 * but the first begins after second_count_total, fills included; 0 = whenever. */
struct measure_limits {
    uint32_t repeat_count;
    double second_count_max, second_count_total;
    bool (*is_stopped)(void); /* asked now and then: no more is measured; NULL = never */
};

/* A target, and the setup with its capacity and options. */
struct measured_target {
    const struct target *target;
    const struct setup *setup;
};

/* The loop and its reads, without a call. */
void measure_empty(const struct op_workload *workload, const struct measure_limits *limits,
                   struct measurement *result);

/* The target's calls, with services that do nothing: no simulated device, no model, no rules.
 * Nothing is measured of a target that bare_open() does not open. */
void measure_raw(const struct measured_target *target, const struct op_workload *workload,
                 const struct measure_limits *limits, struct measurement *result);

/* run_step: driver, simulated device with its contents, model, all rules. */
void measure_checked(const struct measured_target *target, const struct op_workload *workload,
                     const struct measure_limits *limits, struct measurement *result);

#endif
