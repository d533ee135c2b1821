/* Puts the requests, uses and queued frees of any scenario on streams, where the target orders them
 * so (contract.stream_ordered). */
#ifndef HARNESS_GENERATE_STREAMING_H
#define HARNESS_GENERATE_STREAMING_H

#include "harness/base/random.h"
#include "harness/generate/scenario.h"

/* A trial has up to so many streams, and now and then one alone. */
enum { STREAMING_COUNT_MAX = 4 };

/* An open value: a source of chance of its own, so that the scenario's draws are the same with and
 * without streams. */
struct streaming {
    struct random random;
    uint32_t stream_count; /* of this trial */
    uint32_t current;      /* what asks mostly asks on the stream that asked last */
};

void streaming_init(struct streaming *streaming, uint64_t seed);

/* To be asked for each op that the scenario chose.  Requests stay on one stream for a while; events
 * are mostly on the stream of their block, and now and then on another. */
void streaming_place(struct streaming *streaming, const struct scenario_view *view, struct op *op);

#endif
