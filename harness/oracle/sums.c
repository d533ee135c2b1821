#include "harness/oracle/private/layout.h"

#include "harness/base/check.h"

uint64_t sums_taken_bytes(const struct reach *reach)
{
    uint64_t taken = reach->bottom;
    for (size_t i = 0; i < reach->range_count; i++) {
        taken += reach->ranges[i].size_bytes;
    }
    return taken;
}

uint64_t sums_free_bytes(const struct reach *reach)
{
    const uint64_t taken = sums_taken_bytes(reach);
    return taken < reach->oom->capacity_bytes ? reach->oom->capacity_bytes - taken : 0;
}

/* Returns the least hole in granules, for any arrangement of the blocks. */
static uint64_t find_least_hole(const struct reach *reach, uint64_t free_bytes)
{
    const uint64_t holes = reach->range_count + 1;
    const uint64_t granules = free_bytes / reach->oom->granule_bytes;
    return granules / holes + (granules % holes != 0);
}

enum sums_answer sums_judge(const struct reach *reach)
{
    const struct oom *oom = reach->oom;
    const uint64_t free_bytes = sums_free_bytes(reach);
    CHECK(oom->placement != PLACEMENT_RANGES);
    if (reach_is_too_large(reach) || sums_taken_bytes(reach) + reach->need > oom->capacity_bytes) {
        return SUMS_LACK;
    }
    if (oom->placement == PLACEMENT_PAGES) {
        return SUMS_FIT;
    }
    const uint64_t lost = (reach->align - oom->granule_bytes) / oom->granule_bytes;
    const uint64_t need = reach->need / oom->granule_bytes + lost;
    return find_least_hole(reach, free_bytes) >= need ? SUMS_FIT : SUMS_OPEN;
}
