/* What ops cost: growth from few blocks to many, and bounds of single ops. */
#include "harness/rules/cost_class.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

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

/* --- single ops --- */

static void start_latency(uint32_t per_mille, uint64_t calls_max, uint64_t moved_bytes_max)
{
    prepare();
    script.contract.latency = (struct target_latency){
        .per_mille = per_mille, .calls_max = calls_max, .moved_bytes_max = moved_bytes_max};
    start_hosts(1);
}

static void look_four_times(void)
{
    const struct device_services *device = script.device[0];
    for (int i = 0; i < 2; i++) {
        (void)device->clock_ns(device->context);
        (void)device->completed_count(device->context);
    }
}

static const struct verdict *alloc_looking(uint64_t at)
{
    script.act = look_four_times;
    return alloc_at(at, 1);
}

TEST(a_bound_for_every_op_is_broken_by_the_first_beyond_it)
{
    start_latency(1000, 4, 0);
    KEEPS(alloc_looking(0));
    stop();
    start_latency(1000, 3, 0);
    KEEPS(alloc_at(1, 1));
    const struct verdict *verdict = alloc_looking(0);
    BREAKS(verdict, RULE_LATENCY);
    ck_assert_str_eq(verdict->mechanism, "device calls");
    ck_assert_str_eq(verdict->reason, "it took 4 device calls, of which 3 are allowed; 1 of 2 ops "
                                      "were beyond a bound, and 0 may be");
    stop();
}

TEST(of_the_first_thousand_ops_as_many_may_be_beyond_as_of_a_thousand)
{
    start_latency(998, 3, 0);
    KEEPS(alloc_looking(0));
    KEEPS(alloc_looking(1));
    BREAKS(alloc_looking(2), RULE_LATENCY);
    stop();
}

static void move_a_granule(void)
{
    ck_assert_int_eq(copy(0, 1, 1), DEVICE_OK);
}

TEST(moved_bytes_have_a_bound_of_their_own)
{
    start_latency(1000, 0, G - 1);
    KEEPS(alloc_at(0, 1));
    script.at[1].address = G;
    script.act = move_a_granule;
    const struct verdict *verdict = alloc_at(2, 1);
    BREAKS(verdict, RULE_LATENCY);
    ck_assert_str_eq(verdict->mechanism, "moved bytes");
    stop();
}

TEST(an_op_that_a_fault_strikes_is_not_counted)
{
    start_latency(1000, 3, 0);
    KEEPS(arm(FAULT_POLL_JUMP));
    script.act = look_four_times;
    KEEPS(alloc_at(0, 1));
    stop();
}

TEST(a_bound_that_binds_nobody_is_refused)
{
    static const struct target_latency wrong[] = {
        {.per_mille = 1000}, {.calls_max = 1}, {.per_mille = 1001, .calls_max = 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char reason[RUN_REASON_BYTES];
        prepare();
        script.contract.latency = wrong[i];
        struct setup setup;
        setup_init(&setup);
        setup.capacity_bytes = 16 * G;
        setup.host_count = 1;
        ck_assert_ptr_null(run_create(&scripted_target, &setup, reason));
        ck_assert_ptr_nonnull(strstr(reason, "latency"));
    }
}
