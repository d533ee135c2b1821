/* What a run looks at when nobody says: which trials get faults and small devices, which parts have
 * lanes, and what of it the options take away. */
#include "campaign/plan/plan.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static struct run_options options;
static struct plan plan;

/* Of two scenarios on that target; a test may set options before. */
static void make_plan(const char *target)
{
    static const char *const names[] = {"crowded", "queued_free_race"};
    options.names = names;
    options.name_count = 2;
    options.target = target;
    ck_assert_int_eq(plan_make(&options, 1, &plan), EXIT_KEPT);
    ck_assert_uint_eq(plan.count, 2);
    plan_widen(&options, &plan);
}

static void check_faults(const struct part *part, uint32_t even, uint32_t odd)
{
    for (uint64_t trial = 0; trial < 8; trial++) {
        ck_assert_uint_eq(plan_trial_faults(part, trial).kinds, trial % 2 == 0 ? even : odd);
    }
}

TEST(every_second_trial_gets_every_fault_and_each_scenario_a_part_with_lanes)
{
    static const char *const names[] = {"crowded", "queued_free_race", "crowded.lanes",
                                        "queued_free_race.lanes"};
    run_options_init(&options);
    make_plan("hbm");
    ck_assert_uint_eq(plan.count, 4);
    for (size_t i = 0; i < plan.count; i++) {
        const struct part *part = &plan.parts[i];
        ck_assert_str_eq(part->name, names[i]);
        check_faults(part, 0, FAULTING_ALL);
        ck_assert_uint_eq(part->lanes.lane_count, i < 2 ? 0 : WIDEN_LANE_COUNT);
        ck_assert(part->is_tentative == (i >= 2));
        ck_assert_str_eq(part->note, "");
    }
    ck_assert_uint_eq(plan.parts[0].head_start, WIDEN_HEAD_START_COUNT);
    ck_assert_uint_eq(plan.parts[1].head_start, 0);
    ck_assert_uint_eq(plan.parts[2].head_start, 0);
    plan_deinit(&plan);
}

TEST(what_is_given_is_for_every_trial_and_nothing_is_added)
{
    run_options_init(&options);
    options.has_faults = true;
    options.faults.kinds = 1;
    ck_assert_ptr_null(lane_options_set_lanes(&options.lanes, "2"));
    make_plan("hbm");
    ck_assert_uint_eq(plan.count, 2);
    for (size_t i = 0; i < plan.count; i++) {
        check_faults(&plan.parts[i], 1, 1);
        ck_assert_uint_eq(plan.parts[i].lanes.lane_count, 2);
        ck_assert(!plan.parts[i].is_tentative);
    }
    plan_deinit(&plan);
}

TEST(none_takes_faults_and_lanes_away)
{
    run_options_init(&options);
    options.has_faults = true;
    ck_assert_ptr_null(lane_options_set_lanes(&options.lanes, "none"));
    make_plan("hbm");
    ck_assert_uint_eq(plan.count, 2);
    for (size_t i = 0; i < plan.count; i++) {
        check_faults(&plan.parts[i], 0, 0);
        ck_assert_uint_eq(plan.parts[i].lanes.lane_count, 0);
    }
    plan_deinit(&plan);
}

TEST(a_target_that_takes_no_lanes_gets_one_part_that_says_why)
{
    run_options_init(&options);
    make_plan("first_fit");
    ck_assert_uint_eq(plan.count, 3);
    ck_assert_str_eq(plan.parts[2].name, "lanes");
    ck_assert_str_eq(plan.parts[2].note,
                     "skipped: its contract does not allow calls from several threads");
    ck_assert_ptr_nonnull(strstr(plan.parts[2].how, "thread_safe"));
    plan_deinit(&plan);
}

TEST(a_small_device_comes_in_one_trial_of_four_unless_the_user_chose_one)
{
    run_options_init(&options);
    make_plan("hbm");
    for (uint64_t trial = 0; trial < 12; trial++) {
        ck_assert(plan_trial_is_small(&plan.parts[1], trial) == (trial % 4 == 2));
    }
    plan_deinit(&plan);
    options.capacity_bytes = 1 << 20;
    make_plan("hbm");
    for (uint64_t trial = 0; trial < 12; trial++) {
        ck_assert(!plan_trial_is_small(&plan.parts[1], trial));
    }
    plan_deinit(&plan);
}

TEST(a_part_that_nobody_widened_gets_its_faults_in_each_trial)
{
    const struct part part = {.faults = {5}, .capacity_is_free = true};
    check_faults(&part, 5, 5);
    for (uint64_t trial = 0; trial < 8; trial++) {
        ck_assert(!plan_trial_is_small(&part, trial));
    }
}
