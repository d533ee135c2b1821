#include "harness/run/totals.h"

#include "harness/base/check.h"

void run_totals_add(struct run_totals *to, const struct run_totals *from)
{
    CHECK(to != from);
    /* Every field is a count. */
    static_assert(sizeof *to % sizeof(uint64_t) == 0, "totals are counts of 64 bits");
    uint64_t *sums = (uint64_t *)to;
    const uint64_t *counts = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *sums; i++) {
        sums[i] += counts[i];
    }
}
