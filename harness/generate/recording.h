/* Slips recordings into the ops of any scenario, if the target records (contract.records): it
 * begins one, ends it after some ops, and drops it later. */
#ifndef HARNESS_GENERATE_RECORDING_H
#define HARNESS_GENERATE_RECORDING_H

#include "harness/base/random.h"
#include "harness/generate/scenario.h"

enum {
    RECORDING_PERIOD = 60,      /* one begins once in so many ops */
    RECORDING_LENGTH = 12,      /* and ends about so many later */
    RECORDING_DROP_PERIOD = 80, /* each one that ended is dropped once in so many ops */
    RECORDING_COUNT_MAX = 4     /* no more are kept */
};

/* An open value: a source of chance of its own, so that the scenario's draws are the same with and
 * without recordings. */
struct recording {
    struct random random;
};

void recording_init(struct recording *recording, uint64_t seed);

/* Whether an op comes before the scenario's next one: true sets *op. */
bool recording_next(struct recording *recording, const struct scenario_view *view, struct op *op);

#endif
