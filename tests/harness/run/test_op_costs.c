/* How device calls and moved bytes of ops are spread and added up.  tests/cases/run/costs.case has
 * what is counted. */
#include "harness/run/totals.h"
#include "tests/helpers/suite.h"

#include <check.h>

static struct op_costs costs;

static void add_ops(uint64_t op_count, uint64_t calls, uint64_t block_count)
{
    for (uint64_t i = 0; i < op_count; i++) {
        op_costs_add(&costs, &(const struct op_cost){.calls = calls}, block_count);
    }
}

static uint64_t calls_of(uint64_t per_100000)
{
    return cost_spread_percentile(&costs.calls, op_costs_op_count(&costs), per_100000);
}

/* --- how they are spread --- */

TEST(as_many_ops_as_a_percentile_leaves_may_need_more)
{
    static const uint64_t rows[][2] = {
        {50000, 0}, {98900, 0}, {99000, 5}, {99900, 5}, {100000, 7}}; /* per 100,000, calls */
    costs = (struct op_costs){0};
    add_ops(989, 0, 1);
    add_ops(10, 5, 1);
    add_ops(1, 7, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_uint_eq(calls_of(rows[i][0]), rows[i][1]);
    }
    ck_assert_uint_eq(costs.calls.max, 7);
}

TEST(a_percentile_is_at_most_a_quarter_too_large)
{
    for (uint64_t amount = 1; amount < UINT64_C(1) << 48; amount += 1 + amount / 7) {
        costs = (struct op_costs){0};
        add_ops(9, amount, 1);
        add_ops(1, amount * 4, 1);
        ck_assert_uint_ge(calls_of(50000), amount);
        ck_assert_uint_le(calls_of(50000), amount + amount / 4);
        ck_assert_uint_eq(calls_of(100000), amount * 4);
    }
}

TEST(no_amount_is_beyond_the_last_bucket)
{
    costs = (struct op_costs){0};
    add_ops(1, UINT64_MAX, 1);
    ck_assert_uint_eq(calls_of(50000), UINT64_MAX);
}

TEST(no_ops_need_nothing)
{
    costs = (struct op_costs){0};
    ck_assert_uint_eq(calls_of(99900), 0);
    ck_assert_int_eq(cost_classes_fit(costs.classes, COST_CALLS), COST_FIT_UNSEEN);
}

TEST(of_several_runs_ops_are_added_and_the_larger_maximum_stays)
{
    struct run_totals one = {.ops = 3}, other = {.ops = 4};
    op_costs_add(&one.costs, &(const struct op_cost){.calls = 9, .moved_bytes = 100}, 1);
    op_costs_add(&other.costs, &(const struct op_cost){.calls = 5, .moved_bytes = 700}, 1);
    run_totals_add(&one, &other);
    ck_assert_uint_eq(one.ops, 7);
    ck_assert_uint_eq(one.costs.calls.max, 9);
    ck_assert_uint_eq(one.costs.moved_bytes.max, 700);
    ck_assert_uint_eq(op_costs_op_count(&one.costs), 2);
    ck_assert_uint_eq(one.costs.classes[1].spent[COST_CALLS], 14);
}

/* --- what fits --- */

static enum cost_fit fit_of(uint64_t (*calls)(uint64_t block_count))
{
    costs = (struct op_costs){0};
    for (uint64_t n = 1; n < 2000; n++) {
        add_ops(1, calls(n), n);
    }
    return cost_classes_fit(costs.classes, COST_CALLS);
}

static uint64_t two(uint64_t n)
{
    (void)n;
    return 2;
}
static uint64_t twice_the_logarithm(uint64_t n)
{
    return 2 * (64 - (uint64_t)__builtin_clzll(n)) * (64 - (uint64_t)__builtin_clzll(n));
}
static uint64_t as_many(uint64_t n)
{
    return n;
}
static uint64_t square(uint64_t n)
{
    return n * n;
}

TEST(the_slowest_growth_that_is_kept_fits)
{
    ck_assert_int_eq(fit_of(two), COST_FIT_CONSTANT);
    ck_assert_int_eq(fit_of(twice_the_logarithm), COST_FIT_LOGARITHMIC);
    ck_assert_int_eq(fit_of(as_many), COST_FIT_LINEAR);
    ck_assert_int_eq(fit_of(square), COST_FIT_FASTER);
    ck_assert_str_eq(cost_fit_name(COST_FIT_FASTER), "faster");
}
