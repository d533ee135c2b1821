/* The targets with one race each, and the lists that show them: complete, small, and right as long
 * as calls do not overlap. */
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/plugin.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/faulty_scenario.h"
#include "tests/helpers/races.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <string.h>

enum {
    RACE_COUNT_MIN = 14,
    LIST_LANE_COUNT_MAX = 4,
    LIST_OP_COUNT_MAX = 12,
    TRIAL_OP_COUNT = 2000,
    SEED_COUNT = 2
};

static int race_count(void)
{
    int count = 0;
    while (races[count] != NULL) {
        count++;
    }
    return count;
}

static const struct race_list *list_of(const struct target *target)
{
    const struct race_list *found = NULL;
    for (size_t i = 0; i < RACE_LIST_COUNT; i++) {
        if (strcmp(race_lists[i].target, target->name) == 0) {
            ck_assert_msg(found == NULL, "%s has two lists", target->name);
            found = &race_lists[i];
        }
    }
    return found;
}

static void read_list(const struct race_list *list, struct setup *setup, struct op_list *ops)
{
    struct ops_file_error error = {0};
    op_list_init(ops);
    ck_assert_msg(ops_file_parse(list->ops, strlen(list->ops), setup, ops, &error) == OPS_FILE_OK,
                  "%s:%zu:%zu: %s", list->target, error.line, error.column, error.reason);
}

/* --- the table --- */

/* Those that need lanes to be broken, beside the rules of harness/oracle/rule.h. */
static bool is_rule(const char *name)
{
    static const char *const of_lanes[] = {"deadlock", "livelock", "lost_wakeup", "race"};
    bool is_found = rule_find(name) != RULE_NONE;
    for (size_t i = 0; i < sizeof of_lanes / sizeof of_lanes[0]; i++) {
        is_found = is_found || strcmp(of_lanes[i], name) == 0;
    }
    return is_found;
}

EVERY_TEST(.timeout_s = 60);

TEST(a_race_has_a_name_of_its_own_and_a_rule_and_one_list, .count = race_count)
{
    const struct target *race = races[_i];
    char reason[PLUGIN_REASON_BYTES] = "";
    ck_assert_msg(plugin_check_table(race, reason) == PLUGIN_OK, "%s: %s", race->name, reason);
    ck_assert_int_eq(strncmp(race->name, "race_", 5), 0);
    ck_assert_ptr_eq(target_find(race->name), race);
    ck_assert_uint_gt(strlen(race->summary), 0);
    ck_assert_ptr_nonnull(race->breaks);
    ck_assert_msg(is_rule(race->breaks), "%s: no rule is called %s", race->name, race->breaks);
    ck_assert_msg(list_of(race) != NULL, "%s has no list", race->name);
}

TEST(there_are_as_many_lists_as_races_and_none_is_a_plant_of_single_calls)
{
    ck_assert_int_eq(race_count(), RACE_LIST_COUNT);
    ck_assert_int_ge(race_count(), RACE_COUNT_MIN);
    for (size_t i = 0; targets[i] != NULL; i++) {
        ck_assert_int_ne(strncmp(targets[i]->name, "race_", 5), 0);
    }
}

/* --- the lists --- */

TEST(a_list_is_small_and_runs_in_two_lanes_at_least_after_the_first, .to = RACE_LIST_COUNT)
{
    struct setup setup;
    struct op_list list;
    unsigned lanes = 0;
    read_list(&race_lists[_i], &setup, &list);
    ck_assert_str_eq(setup.target, race_lists[_i].target);
    ck_assert_uint_eq(setup.capacity_bytes, 8 * 512);
    ck_assert_uint_le(list.count, LIST_OP_COUNT_MAX);
    for (size_t i = 0; i < list.count; i++) {
        ck_assert_uint_lt(list.ops[i].lane, LIST_LANE_COUNT_MAX);
        ck_assert_msg(list.ops[i].lane != 0 || lanes == 0, "%s: lane 0 goes on beside the others",
                      setup.target);
        lanes |= list.ops[i].lane == 0 ? 0 : 1u << list.ops[i].lane;
    }
    ck_assert_msg((lanes & (lanes - 1)) != 0, "%s: one lane has nobody to overlap with",
                  setup.target);
    op_list_deinit(&list);
}

TEST(a_list_breaks_nothing_when_its_calls_do_not_overlap, .to = RACE_LIST_COUNT)
{
    struct setup setup;
    struct op_list list;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    read_list(&race_lists[_i], &setup, &list);
    for (size_t i = 0; i < list.count; i++) {
        list.ops[i].lane = 0;
    }
    ck_assert_msg(trial_replay(target_find(setup.target), &setup, &list, NULL, &trial, reason),
                  "%s", reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE || trial.first.kind == VERDICT_JUSTIFIED,
                  "%s, op %u: %s", setup.target, trial.first.op, trial.first.reason);
    ck_assert_uint_eq(trial.totals.broken, 0);
    ck_assert_uint_eq(trial.totals.skipped, 0);
    trial_deinit(&trial);
    op_list_deinit(&list);
}

/* --- workloads --- */

static void check_kept(const struct target *target, const struct scenario *scenario, uint64_t seed)
{
    struct setup setup;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    (void)strcpy(setup.target, target->name);
    setup.seed = seed;
    const struct trial_plan plan = {.target = target,
                                    .scenario = scenario,
                                    .setup = &setup,
                                    .capacity_is_free = true,
                                    .op_count_max = TRIAL_OP_COUNT};
    ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s: %s", target->name, reason);
    ck_assert_msg(trial.totals.broken == 0 && trial.totals.premature == 0,
                  "%s in %s, seed %" PRIu64 ", op %u: %s", target->name, scenario->name, seed,
                  trial.first.op, trial.first.reason);
    trial_deinit(&trial);
}

/* In each part-th scenario, beginning with the one of that number, and with faults. */
static void check_everywhere(const struct target *target, size_t first, size_t part)
{
    for (uint64_t seed = 1; seed <= draws_count(SEED_COUNT, 1); seed++) {
        for (size_t i = 0; scenarios[i] != NULL; i++) {
            if (!scenarios[i]->shares_device &&
                i % part == first) { /* the targets neither sleep nor grow */
                check_kept(target, scenarios[i], seed);
            }
        }
        check_kept(target, &faulty_scenario, seed);
    }
}

TEST(a_race_keeps_every_promise_when_calls_do_not_overlap, .count = race_count)
{
    /* A short run has other races in each scenario than in the next one. */
    const size_t part = draws_period() == 1 ? 1 : 4;
    check_everywhere(races[_i], (size_t)_i % part, part);
}

TEST(the_right_target_keeps_every_promise)
{
    check_everywhere(&target_threaded, 0, 1);
}
