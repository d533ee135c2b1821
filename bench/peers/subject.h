/* The subjects that bench_peers compares: allocators that each play the same list of allocs and
 * frees, called directly, without a table of functions between the loop and them.  The ops after
 * the fill are played in a function whose name has "steady_ops" in it: callgrind counts what is
 * done there (bench/peers/table, ci/instructions). */
#ifndef BENCH_PEERS_SUBJECT_H
#define BENCH_PEERS_SUBJECT_H

#include "measure/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every size is a multiple of it, and every block is aligned to it. */
enum { PEER_GRANULE_BYTES = 512 };
static inline uint64_t peer_round_up(uint64_t bytes)
{
    return (bytes + PEER_GRANULE_BYTES - 1) / PEER_GRANULE_BYTES * PEER_GRANULE_BYTES;
}

struct op_workload;

/* An alloc of size_bytes, or with 0 the free of the block of op `ref`, which lies before. */
struct peer_op {
    uint64_t size_bytes;
    uint32_t ref;
};

struct peer_list {
    const struct peer_op *ops;
    size_t count, fill_count; /* ops[0, fill_count) come before what is measured */
    uint64_t capacity_bytes;
    uint32_t live_count_max; /* blocks at once */
    const struct op_workload
        *workload; /* the same as the harness has it; NULL for a packing list */
};

struct played {
    double ns;              /* of processor time, of the ops after the fill */
    uint64_t refused_count; /* allocs, the fill included; the free of such a block is no call */
};

struct peer_subject {
    const char *name;
    /* Plays the list on an empty heap.  False: it has no such heap. */
    bool (*play)(const struct peer_subject *subject, const struct peer_list *list,
                 struct played *played);
    const void *context; /* for play */
};

#ifdef __cplusplus
}
#endif

#endif
