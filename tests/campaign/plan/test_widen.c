/* What a run looks at when nobody says: which trials get faults and small devices, which parts have
 * lanes, and what of it the options take away. */
#include "campaign/plan/plan.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>

static struct run_options options;
static struct plan plan;

/* By trial, of the first twelve: faults of all kinds are F, some f, a small device s. */
static void show_trials(const struct part *part)
{
    show(" trials ");
    for (uint64_t i = 0; i < 12; i++) {
        const uint32_t kinds = plan_trial_faults(part, i).kinds;
        show("%s%s%s", i == 0 ? "" : ",",
             kinds == 0              ? ""
             : kinds == FAULTING_ALL ? "F"
                                     : "f",
             plan_trial_is_small(part, i) ? "s" : "");
    }
    show("\n");
}

/* Of two scenarios, with the options that were set. */
static void show_plan(const char *target)
{
    static const char *const names[] = {"crowded", "queued_free_race"};
    options.names = names;
    options.name_count = 2;
    options.target = target;
    ck_assert_int_eq(plan_make(&options, 1, &plan), EXIT_KEPT);
    ck_assert_uint_eq(plan.count, 2);
    plan_widen(&options, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        const struct part *part = &plan.parts[i];
        SHOW(part->name, part->lanes.lane_count, part->is_tentative, part->head_start);
        GIVEN(part->note, part->how);
        show_trials(part);
    }
    plan_deinit(&plan);
}

static void begin(void)
{
    run_options_init(&options);
}

EVERY_TEST(.setup = begin, .teardown = snap_rest);

TEST(every_second_trial_gets_every_fault_and_each_scenario_a_part_with_lanes)
{
    show_plan("hbm");
}

TEST(what_is_given_is_for_every_trial_and_nothing_is_added)
{
    options.has_faults = true;
    options.faults.kinds = 1;
    ck_assert_ptr_null(lane_options_set_lanes(&options.lanes, "2"));
    show_plan("hbm");
}

TEST(none_takes_faults_and_lanes_away)
{
    options.has_faults = true;
    ck_assert_ptr_null(lane_options_set_lanes(&options.lanes, "none"));
    show_plan("hbm");
}

TEST(a_target_that_takes_no_lanes_gets_one_part_that_says_why)
{
    show_plan("first_fit");
}

/* Where the user chose no device, one trial of four has a small one. */
TEST(a_device_that_the_user_chose_is_never_small)
{
    options.capacity_bytes = 1 << 20;
    show_plan("hbm");
}

TEST(a_part_that_nobody_widened_gets_its_faults_in_each_trial)
{
    show_trials(&(struct part){.faults = {5}, .capacity_is_free = true});
}
