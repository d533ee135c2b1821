/* The tightest rounding is found for sizes that follow one, and none for sizes that follow none. */
#include "harness/op/rounding.h"
#include "infer/private/fields.h"
#include "tests/helpers/suite.h"

#include <string.h>

enum { GRANULE_BYTES = 16, PAIR_COUNT = 4096 };
#define LIMIT_BYTES (UINT64_C(1) << 20)

/* What blocks would have that follow the rounding to the byte, for 1 to PAIR_COUNT bytes. */
static void make_pairs(const struct target_rounding *rounding, struct size_pair *pairs)
{
    for (uint64_t i = 0; i < PAIR_COUNT; i++) {
        pairs[i] = (struct size_pair){i + 1, rounding_bytes_max(rounding, GRANULE_BYTES, i + 1)};
    }
}

static const struct target_rounding roundings[] = {
    {.kind = ROUNDING_GRANULE},
    {.kind = ROUNDING_GRANULE, .overhead_bytes = 49},
    {.kind = ROUNDING_CLASSES, .steps = 1},
    {.kind = ROUNDING_CLASSES, .steps = 4},
    {.kind = ROUNDING_CLASSES, .steps = 8, .smallest_bytes = 256},
    {.kind = ROUNDING_CLASSES, .steps = 64},
};

TEST(exact_sizes_have_no_slack, .to = sizeof roundings / sizeof *roundings)
{
    struct size_pair pairs[PAIR_COUNT];
    make_pairs(&roundings[_i], pairs);
    const struct size_fit fit = size_fit_find(pairs, PAIR_COUNT, GRANULE_BYTES, LIMIT_BYTES);
    ck_assert_uint_eq(fit.slack_bytes, 0);
    ck_assert_int_eq(fit.rounding.kind, roundings[_i].kind);
    if (fit.rounding.kind == ROUNDING_CLASSES) {
        ck_assert_uint_eq(fit.rounding.steps, roundings[_i].steps);
    }
}

/* Any rounding with fewer bytes for some pair would be broken by that pair. */
TEST(a_fit_allows_every_pair, .to = sizeof roundings / sizeof *roundings)
{
    struct size_pair pairs[PAIR_COUNT];
    make_pairs(&roundings[_i], pairs);
    for (size_t i = 0; i < PAIR_COUNT; i += 7) {
        pairs[i].block_bytes += 3 * GRANULE_BYTES; /* some have a remainder besides */
    }
    const struct size_fit fit = size_fit_find(pairs, PAIR_COUNT, GRANULE_BYTES, LIMIT_BYTES);
    ck_assert_int_ne(fit.rounding.kind, ROUNDING_ANY);
    for (size_t i = 0; i < PAIR_COUNT; i++) {
        const uint64_t most = rounding_bytes_max(&fit.rounding, GRANULE_BYTES,
                                                 pairs[i].asked_bytes);
        ck_assert_uint_ge(most, pairs[i].block_bytes);
        ck_assert_uint_le(most - pairs[i].block_bytes, fit.slack_bytes);
    }
}

TEST(slots_are_classes_with_a_smallest_one)
{
    const struct size_pair pairs[] = {{1, 65536}, {512, 65536}, {40000, 65536}, {65536, 65536}};
    const struct size_fit fit = size_fit_find(pairs, 4, 512, 65536);
    ck_assert_int_eq(fit.rounding.kind, ROUNDING_CLASSES);
    ck_assert_uint_eq(fit.rounding.steps, 1);
    ck_assert_uint_eq(fit.rounding.smallest_bytes, 65536);
    ck_assert_uint_eq(fit.rounding.overhead_bytes, 0);
    ck_assert_uint_eq(fit.slack_bytes, 0);
}

TEST(what_needs_an_overhead_of_the_limit_fits_nothing)
{
    const struct size_pair pairs[] = {{16, 16}, {32, 32 + 4096}};
    const uint64_t overhead = 4096 - (GRANULE_BYTES - 1);
    ck_assert_int_eq(size_fit_find(pairs, 2, GRANULE_BYTES, overhead).rounding.kind, ROUNDING_ANY);
    const struct size_fit fit = size_fit_find(pairs, 2, GRANULE_BYTES, overhead + 1);
    ck_assert_int_eq(fit.rounding.kind, ROUNDING_GRANULE);
    ck_assert_uint_eq(fit.rounding.overhead_bytes, overhead);
    ck_assert_int_eq(size_fit_find(pairs, 0, GRANULE_BYTES, overhead).rounding.kind, ROUNDING_ANY);
}

TEST(granules_come_before_classes_that_do_no_better)
{
    const struct size_pair pairs[] = {{512, 512}, {1024, 1024}, {2048, 2048}};
    ck_assert_int_eq(size_fit_find(pairs, 3, 512, 4096).rounding.kind, ROUNDING_GRANULE);
}
