#include "harness/run/probe.h"

#include "harness/base/check.h"

#include <assert.h>

static_assert(PROBE_COUNT <= 64, "one bit each in a word of hits");

static const struct probe_info probes[PROBE_COUNT] = {
#define PROBE(enumerator, name, summary) {#name, summary},
#include "harness/run/probe_list.h"
#undef PROBE
};

const struct probe_info *probe_info(enum probe probe)
{
    CHECK(probe < PROBE_COUNT);
    return &probes[probe];
}

void probe_count(uint64_t hits, uint64_t counts[PROBE_COUNT])
{
    CHECK_COSTLY(hits < UINT64_C(1) << PROBE_COUNT);
    for (; hits != 0; hits &= hits - 1) {
        counts[__builtin_ctzll(hits)]++;
    }
}

uint64_t probes_ever_hit(const uint64_t counts[PROBE_COUNT])
{
    uint64_t hit = 0;
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        hit += counts[i] > 0;
    }
    return hit;
}
