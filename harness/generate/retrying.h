/* Slips retries into the ops of any scenario: some requests that were answered out of memory are
 * asked again at once (OP_RETRY). */
#ifndef HARNESS_GENERATE_RETRYING_H
#define HARNESS_GENERATE_RETRYING_H

#include "harness/base/random.h"
#include "harness/op/op.h"

/* A refusal may cost a hundred times what another op does. */
enum { RETRYING_PERIOD = 8 };

/* An open value: a stream of its own, so that the scenario's draws are the same with and without
 * retries. */
struct retrying {
    struct random random;
};

void retrying_init(struct retrying *retrying, uint64_t seed);

/* To be asked after each op that was answered out of memory, with the op as it was recorded: one of
 * RETRYING_PERIOD is asked again.  True sets *op, which comes next.  Never for what several hosts
 * are asked alike, nor for a retry. */
bool retrying_next(struct retrying *retrying, const struct op *refused, struct op *op);

#endif
