/* The requests of a list, made to the model of PyTorch's caching allocator instead of a target:
 * what each of its settings would have done.  Nothing is judged. */
#ifndef EXPLAIN_CACHING_REPLAY_H
#define EXPLAIN_CACHING_REPLAY_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "targets/caching/cache.h"

struct caching_outcome {
    uint64_t reserved_peak_bytes;  /* the most that its segments took of one device */
    uint64_t unused_bytes;         /* of that, at that moment, in no block: lost to the allocator */
    uint64_t largest_served_bytes; /* of the requests of the list */
    uint64_t oom_count;            /* requests that found no memory */
    uint32_t first_oom_op;         /* OP_NONE: none */
    bool is_skipped;               /* for its caller: it was not run */
};

/* Each host is a device with an allocator of its own, empty at first.  capacity_bytes: of each;
 * UINT64_MAX: it is unlimited.  What has the tag of SETUP_FILLER_NAME is left out.  Holds are
 * ignored, and a queued free ends with its event, or when time passes next.  Deterministic.
 * O(ops log ops). */
void caching_replay(const struct setup *setup, const struct op_list *ops,
                    const struct cache_settings *settings, uint64_t capacity_bytes,
                    struct caching_outcome *outcome);

#endif
