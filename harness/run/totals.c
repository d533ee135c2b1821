#include "harness/run/totals.h"

#include "harness/base/check.h"
#include "harness/base/often.h"

/* --- what ops cost --- */

/* Amounts below 8 have a bucket each, and each doubling above has 4. */
enum { EXACT_COUNT = 8, STEPS_LOG2 = 2, STEP_COUNT = 1 << STEPS_LOG2, PERCENT_WHOLE = 100000 };

static uint32_t bucket_of(uint64_t amount)
{
    if (amount < EXACT_COUNT) {
        return (uint32_t)amount;
    }
    const uint32_t log2 = 63 - (uint32_t)__builtin_clzll(amount);
    const uint32_t step = (uint32_t)(amount >> (log2 - STEPS_LOG2)) & (STEP_COUNT - 1);
    const uint32_t bucket = (log2 - 1) * STEP_COUNT + step;
    return bucket < COST_BUCKET_COUNT ? bucket : COST_BUCKET_COUNT - 1;
}

/* The largest amount in it. */
static uint64_t bucket_end(uint32_t bucket)
{
    if (bucket < EXACT_COUNT) {
        return bucket;
    }
    const uint32_t log2 = bucket / STEP_COUNT + 1;
    const uint64_t step = bucket % STEP_COUNT;
    return ((STEP_COUNT + step + 1) << (log2 - STEPS_LOG2)) - 1;
}

void cost_spread_add(struct cost_spread *spread, uint64_t amount)
{
    CHECK_COSTLY(amount > 0);
    spread->counts[bucket_of(amount)]++;
    spread->max = amount > spread->max ? amount : spread->max;
}

SELDOM void plain_costs_find_class(struct plain_costs *plain, struct op_costs *costs,
                                   uint64_t block_count)
{
    const uint8_t index = cost_class_of(block_count);
    *plain = (struct plain_costs){.class = &costs->classes[index],
                                  .blocks_low = (UINT64_C(1) << index) - 1,
                                  .blocks_above = (UINT64_C(1) << index) - 1};
    CHECK_COSTLY(block_count >= plain->blocks_low);
}

uint64_t op_costs_op_count(const struct op_costs *costs)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < COST_CLASS_COUNT; i++) {
        count += costs->classes[i].op_count;
    }
    return count;
}

uint64_t cost_spread_percentile(const struct cost_spread *spread, uint64_t op_count,
                                uint64_t per_100000)
{
    CHECK(per_100000 <= PERCENT_WHOLE);
    /* Counted from above: so many may need more. */
    unsigned __int128 above = (unsigned __int128)op_count * (PERCENT_WHOLE - per_100000) /
                              PERCENT_WHOLE;
    for (uint32_t i = COST_BUCKET_COUNT; i-- > 0;) {
        if (spread->counts[i] > above) {
            const bool is_last = i == COST_BUCKET_COUNT - 1;
            return is_last || bucket_end(i) > spread->max ? spread->max : bucket_end(i);
        }
        above -= spread->counts[i];
    }
    return 0;
}

/* --- all of it --- */

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
