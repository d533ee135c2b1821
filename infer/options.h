/* The options of a target: which of their values the experiments try, namely those that it lists,
 * and what those change. */
#ifndef INFER_OPTIONS_H
#define INFER_OPTIONS_H

#include "infer/experiment.h"

enum { OPTION_VALUE_COUNT_MAX = 16 };

/* One option.  Values are those between bars.  For N, a number, a few numbers are
 * tried; a list with commas is tried in its order and in the reverse; of other words in capitals or
 * in angle brackets, which stand for any text, nothing is tried. */
struct option_values {
    char key[SETUP_NAME_BYTES];
    char values[OPTION_VALUE_COUNT_MAX][SETUP_NAME_BYTES];
    size_t count;
    bool is_open; /* it has values that are not tried */
};

/* The next option of the target, in its order; *at begins as 0.  False: there is none left.  What
 * is longer than a setup may have, or beyond the count, is left out (is_open). */
bool option_values_next(const struct target *target, size_t *at, struct option_values *values);

/* What can be observed of a target in all experiments, by kind, as one hash each: two values of an
 * option that give equal hashes do nothing that the experiments can see. */
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
struct effects effects_read(const struct lab_trace *traces, const struct writing *output);

#endif
