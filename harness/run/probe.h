/* States of the allocator's world that are worth reaching, one row each in probe_list.h.  A run
 * counts how often each was reached: a promise that was kept says little about a state that no op
 * ever led to. */
#ifndef HARNESS_RUN_PROBE_H
#define HARNESS_RUN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum probe {
#define PROBE(enumerator, name, summary) PROBE_##enumerator,
#include "harness/run/probe_list.h"
#undef PROBE
    PROBE_COUNT
};

struct probe_info {
    const char *name;    /* "drained_for_a_request" */
    const char *summary; /* one sentence without its full stop */
};
const struct probe_info *probe_info(enum probe probe);

/* Adds one op to the counts: hits has a bit for each probe that it hit. */
void probe_count(uint64_t hits, uint64_t probes[PROBE_COUNT]);
/* Returns how many of them were hit at all. */
uint64_t probes_ever_hit(const uint64_t probes[PROBE_COUNT]);

#endif
