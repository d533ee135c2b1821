/* What ops cost: growth from few blocks to many.  Bounds of single ops are cases. */
#include "harness/rules/cost_class.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* --- growth --- */

static struct cost_history costs;

/* So many ops, each with so many calls and accesses, while there are so many blocks. */
static void add_ops(uint64_t op_count, uint64_t block_count, uint64_t calls)
{
    for (uint64_t i = 0; i < op_count; i++) {
        cost_history_add(&costs, &(const struct cost_sample){.cost = {.calls = calls},
                                                             .block_count = block_count});
    }
}

static bool grows(enum target_growth declared, struct cost_growth *growth)
{
    const struct target_cost cost = {.calls = declared};
    costs.has_grown[COST_CALLS] = false;
    return cost_history_find_growth(&costs, &cost, growth);
}

TEST(calls_that_grow_with_the_blocks_are_more_than_the_logarithm_allows)
{
    struct cost_growth growth = {.measure = COST_MEASURE_COUNT};
    costs = (struct cost_history){0};
    for (uint64_t n = 0; n < 100; n++) {
        add_ops(1, n, n);
    }
    ck_assert(grows(TARGET_GROWTH_CONSTANT, &growth));
    ck_assert_int_eq(growth.measure, COST_CALLS);
    ck_assert_int_eq(growth.axis, COST_BLOCKS);
    ck_assert_uint_eq(growth.from, 3);
    ck_assert_uint_eq(growth.to, 6);
    ck_assert(grows(TARGET_GROWTH_LOGARITHMIC, &growth));
    ck_assert(!grows(TARGET_GROWTH_LINEAR, &growth));
    ck_assert(!grows(TARGET_GROWTH_UNDECLARED, &growth));
}

TEST(calls_that_grow_with_the_logarithm_keep_it)
{
    struct cost_growth growth;
    costs = (struct cost_history){0};
    for (uint64_t n = 0; n < 40000; n++) {
        add_ops(1, n, 2 * (64 - (uint64_t)__builtin_clzll(n + 1)));
        ck_assert(!grows(TARGET_GROWTH_LOGARITHMIC, &growth));
    }
}

TEST(a_square_is_more_than_linear)
{
    struct cost_growth growth;
    costs = (struct cost_history){0};
    for (uint64_t n = 0; n < 400; n++) {
        add_ops(1, n, n * n);
    }
    ck_assert(grows(TARGET_GROWTH_LINEAR, &growth));
}

/* Four times as many are allowed, to the last call. */
TEST(the_bound_is_four_times_the_mean_of_few_blocks)
{
    for (uint64_t more = 0; more < 2; more++) {
        struct cost_growth growth;
        costs = (struct cost_history){0};
        add_ops(8, 7, 5);
        add_ops(31, 63, 20);
        add_ops(1, 63, 20 + more);
        ck_assert_int_eq(grows(TARGET_GROWTH_CONSTANT, &growth), more == 1);
    }
}

/* A table that doubles, and the same cost where it is not spread over enough ops to say so. */
TEST(what_is_spread_over_many_ops_is_no_growth)
{
    struct cost_growth growth;
    costs = (struct cost_history){0};
    for (uint64_t n = 0; n < 4000; n++) {
        add_ops(1, n, (n & (n - 1)) == 0 ? n : 1);
        ck_assert_msg(!grows(TARGET_GROWTH_CONSTANT, &growth), "%d", (int)n);
    }
    costs = (struct cost_history){0};
    add_ops(8, 8, 1);
    add_ops(20, 1000, 1000); /* 256 are needed */
    ck_assert(!grows(TARGET_GROWTH_CONSTANT, &growth));
}

TEST(effects_share_the_calls_of_their_op)
{
    struct cost_growth growth;
    costs = (struct cost_history){0};
    add_ops(8, 8, 1);
    for (unsigned i = 0; i < 40; i++) {
        cost_history_add(&costs, &(const struct cost_sample){.cost = {.calls = 160, .effects = 39},
                                                             .block_count = 64});
    }
    ck_assert(!grows(TARGET_GROWTH_CONSTANT, &growth));
    add_ops(1, 64, 1000);
    ck_assert(grows(TARGET_GROWTH_CONSTANT, &growth));
}

TEST(moved_bytes_are_counted_for_each_byte_asked_for_and_against_holes_too)
{
    const struct target_cost declared = {.moved_bytes = TARGET_GROWTH_CONSTANT};
    struct cost_growth growth;
    costs = (struct cost_history){0};
    for (uint64_t holes = 0; holes < 200; holes++) {
        ck_assert(holes > 0 || cost_history_wants_holes(&costs));
        cost_history_see_holes(&costs, holes, 0);
        cost_history_add(
            &costs, &(const struct cost_sample){
                        .cost = {.moved_bytes = holes * 100, .asked_bytes = 10}, .block_count = 1});
    }
    ck_assert(!cost_history_wants_holes(&costs));
    ck_assert(cost_history_find_growth(&costs, &declared, &growth));
    ck_assert_int_eq(growth.measure, COST_MOVED_BYTES);
    ck_assert_int_eq(growth.axis, COST_HOLES);
}

TEST(each_measure_is_found_once)
{
    const struct target_cost declared = {.calls = TARGET_GROWTH_CONSTANT};
    struct cost_growth growth;
    costs = (struct cost_history){0};
    add_ops(8, 8, 1);
    add_ops(32, 64, 9);
    ck_assert(cost_history_find_growth(&costs, &declared, &growth));
    add_ops(1, 64, 9);
    ck_assert(!cost_history_find_growth(&costs, &declared, &growth));
}

TEST(sums_beyond_all_numbers_decide_nothing)
{
    struct cost_growth growth;
    costs = (struct cost_history){0};
    add_ops(8, 7, 1);
    costs.classes[COST_BLOCKS][3].op_count = UINT64_MAX;
    add_ops(40, 64, UINT64_MAX / 64);
    costs.classes[COST_BLOCKS][6].op_count = UINT64_MAX;
    ck_assert(!grows(TARGET_GROWTH_LINEAR, &growth));
}
