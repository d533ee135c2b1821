/* The plug-ins of targets/explored/, whose plain accesses are seen: a planted data race that no
 * switch shows is found, and where none was planted none is. */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/run/trial.h"
#include "harness/trial/lane_trial.h"
#include "scenarios/scenarios.h"
#include "targets/plugin.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/races.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PEEK_RUN_COUNT = 200,
    PEEK_SEEN_PERCENT_MIN = 95,
    RIGHT_SCHEDULE_COUNT = 500,
    HBM_LIST_COUNT = 200,
    HBM_SCHEDULE_COUNT = 20,
    HBM_LANE_COUNT = 3
};

static void load_plugin(struct plugin *plugin, const char *path)
{
    char reason[PLUGIN_REASON_BYTES] = "";
    ck_assert_msg(plugin_load(plugin, path, reason) == PLUGIN_OK, "%s", reason);
}

/* The list of that name for the plug-in as it comes; race: the value of its option. */
static void read_list(const struct race_list *list, const char *race, struct setup *setup,
                      struct op_list *ops)
{
    struct ops_file_error error;
    op_list_init(ops);
    ck_assert_msg(ops_file_parse(list->ops, strlen(list->ops), setup, ops, &error) == OPS_FILE_OK,
                  "%s", error.reason);
    (void)snprintf(setup->target, sizeof setup->target, "%s", THREADED_EXPLORED);
    ck_assert(setup_set_option(setup, "race", race));
}

static const struct race_list *list_find(const char *name)
{
    size_t i = 0;
    while (i < RACE_LIST_COUNT && strcmp(race_lists[i].target, name) != 0) {
        i++;
    }
    ck_assert_uint_lt(i, RACE_LIST_COUNT);
    return &race_lists[i];
}

/* How many of run_count runs of the list, each a search of its own for one schedule, end with
 * a race. */
static uint64_t count_races(const struct target *target, const struct setup *setup,
                            const struct op_list *ops, uint64_t run_count, bool checks_order)
{
    uint64_t seen_count = 0;
    for (uint64_t seed = 0; seed < run_count; seed++) {
        struct trial trial;
        struct lanes_found found;
        char reason[RUN_REASON_BYTES] = "";
        const struct lanes_search how = {.strategy = &strategy_random,
                                         .seed = seed,
                                         .schedule_count_max = 1,
                                         .backend = SCHEDULER_FIBERS,
                                         .checks_order = checks_order};
        ck_assert_msg(lanes_search(target, setup, ops, &how, NULL, &trial, &found, reason), "%s",
                      reason);
        seen_count += trial.first.kind == VERDICT_BROKEN && trial.first.rule == RULE_RACE;
        ck_assert_msg(trial.first.kind == VERDICT_NONE || trial.first.rule == RULE_RACE, "%s: %s",
                      rule_info(trial.first.rule)->name, trial.first.reason);
        trial_deinit(&trial);
    }
    return seen_count;
}

EVERY_TEST(.timeout_s = 600);

TEST(a_read_without_the_mutex_is_found_in_nearly_every_schedule)
{
    struct plugin plugin = {0};
    struct setup setup;
    struct op_list ops;
    load_plugin(&plugin, THREADED_EXPLORED);
    read_list(list_find("race_peek_unlocked"), "peek_unlocked", &setup, &ops);
    const uint64_t count = draws_count(PEEK_RUN_COUNT, 1);
    ck_assert_uint_ge(100 * count_races(plugin.target, &setup, &ops, count, true),
                      PEEK_SEEN_PERCENT_MIN * count);
    ck_assert_uint_eq(count_races(plugin.target, &setup, &ops, count, false), 0);
    op_list_deinit(&ops);
    plugin_unload(&plugin);
}

TEST(a_race_that_is_not_planted_is_refused)
{
    struct plugin plugin = {0};
    struct setup setup;
    struct op_list ops;
    char reason[RUN_REASON_BYTES] = "";
    load_plugin(&plugin, THREADED_EXPLORED);
    read_list(&race_lists[0], "unheard_of", &setup, &ops);
    ck_assert_ptr_null(run_create(plugin.target, &setup, reason));
    ck_assert_ptr_nonnull(strstr(reason, "race=unheard_of"));
    op_list_deinit(&ops);
    plugin_unload(&plugin);
}

TEST(the_right_target_has_no_race, .to = RACE_LIST_COUNT)
{
    struct plugin plugin = {0};
    struct setup setup;
    struct op_list ops;
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    load_plugin(&plugin, THREADED_EXPLORED);
    read_list(&race_lists[_i], "none", &setup, &ops);
    const uint64_t count = draws_count(RIGHT_SCHEDULE_COUNT, 1);
    const struct lanes_search how = {.strategy = &strategy_portfolio,
                                     .seed = 1,
                                     .checks_order = true,
                                     .schedule_count_max = count,
                                     .backend = SCHEDULER_FIBERS};
    ck_assert_msg(lanes_search(plugin.target, &setup, &ops, &how, NULL, &trial, &found, reason),
                  "%s", reason);
    ck_assert_msg(trial.first.kind == VERDICT_NONE, "%s: op %u: %s: %s", race_lists[_i].target,
                  trial.first.op, rule_info(trial.first.rule)->name, trial.first.reason);
    ck_assert_uint_eq(found.schedule_count, count);
    trial_deinit(&trial);
    op_list_deinit(&ops);
    plugin_unload(&plugin);
}

/* Draws a list for three lanes and runs it in some schedules.  Libhbm's last failure is local to
 * the thread, so each lane needs one. */
static struct verdict try_hbm(const struct target *target, const struct scenario *scenario,
                              uint64_t seed)
{
    struct setup setup;
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&setup);
    (void)snprintf(setup.target, sizeof setup.target, "%s", HBM_EXPLORED);
    (void)snprintf(setup.chip, sizeof setup.chip, "%s", scenario->chip);
    setup.capacity_bytes = chip_find(scenario->chip)->capacity_bytes;
    setup.seed = seed;
    const struct lane_trial_plan plan = {
        .draw = {.target = target,
                 .scenario = scenario,
                 .setup = &setup,
                 .capacity_is_free = true,
                 .op_count_max = scenario->ops_per_trial},
        .lane_count = HBM_LANE_COUNT,
        .search = {.strategy = &strategy_portfolio,
                   .seed = seed,
                   .checks_order = true,
                   .schedule_count_max = HBM_SCHEDULE_COUNT,
                   .backend = SCHEDULER_THREADS},
    };
    ck_assert_msg(lane_trial_run(&plan, NULL, &trial, &found, reason), "%s", reason);
    ck_assert_uint_gt(found.point_count, 0);
    const struct verdict verdict = trial.first;
    trial_deinit(&trial);
    return verdict;
}

/* What the scheduler says of threads, not the judge of answers. */
static bool is_of_threads(enum rule rule)
{
    return rule == RULE_RACE || rule == RULE_DEADLOCK || rule == RULE_LIVELOCK ||
           rule == RULE_LOST_WAKEUP || rule == RULE_MISUSE || rule == RULE_HANG;
}

static int scenario_count(void)
{
    int count = 0;
    while (scenarios[count] != NULL) {
        count++;
    }
    return count;
}

/* Its lock is an atomic exchange: each attempt is a point, and what it orders is all that keeps the
 * accesses apart. The judge's answers are not asked for: the target makes a block in one section of
 * the lock and reads its place in another, and a lane that moves or evicts it in between, which
 * only happens where atomic operations are points, makes the judge look for the block where it was
 * not made. */
TEST(libhbm_has_neither_race_nor_deadlock, .count = scenario_count)
{
    struct plugin plugin = {0};
    load_plugin(&plugin, HBM_EXPLORED);
    for (uint64_t seed = (uint64_t)_i + 1; seed <= draws_count(HBM_LIST_COUNT, 1);
         seed += (uint64_t)scenario_count()) {
        const struct verdict verdict = try_hbm(plugin.target, scenarios[_i], seed);
        ck_assert_msg(!is_of_threads(verdict.rule), "%s seed %" PRIu64 " op %u: %s: %s",
                      scenarios[_i]->name, seed, verdict.op, rule_info(verdict.rule)->name,
                      verdict.reason);
    }
    plugin_unload(&plugin);
}
