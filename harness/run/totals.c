#include "harness/run/totals.h"

#include "harness/base/check.h"

static uint64_t larger_of(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

void run_totals_add(struct run_totals *to, const struct run_totals *from)
{
    CHECK(to != from);
    const uint64_t calls_max = larger_of(to->costs.calls.max, from->costs.calls.max);
    const uint64_t moved_max = larger_of(to->costs.moved_bytes.max, from->costs.moved_bytes.max);
    /* Every field but those is a count. */
    static_assert(sizeof *to % sizeof(uint64_t) == 0, "totals are counts of 64 bits");
    uint64_t *sums = (uint64_t *)to;
    const uint64_t *counts = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *sums; i++) {
        sums[i] += counts[i];
    }
    to->costs.calls.max = calls_max;
    to->costs.moved_bytes.max = moved_max;
}
