/* What can be observed of a target in all experiments, by kind, as one hash each: two values of an
 * option that give equal hashes do nothing that the experiments can see. */
#ifndef INFER_EFFECT_H
#define INFER_EFFECT_H

#include "infer/experiment.h"

enum effect {
    EFFECT_OPENING, /* whether the setup is accepted, and with which capacities */
    EFFECT_CONTRACT,
    EFFECT_ANSWERS, /* of each call: its result, or that the process ended */
    EFFECT_ADDRESSES,
    EFFECT_SIZES,
    EFFECT_DEVICE_CALLS,
    EFFECT_COUNTERS,
    EFFECT_MESSAGES,
    EFFECT_HOST_MEMORY,
    EFFECT_FINDINGS, /* promises that broke */
    EFFECT_OUTPUT,   /* what it printed */
    EFFECT_COUNT
};
const char *effect_name(enum effect effect); /* "device calls" */

struct effects {
    uint64_t hashes[EFFECT_COUNT];
};

/* Of EXPERIMENT_COUNT traces, and what was printed meanwhile.  Handles are left out: they may be
 * addresses of the host. */
struct effects effects_read(const struct trace *traces, const struct writing *output);

#endif
