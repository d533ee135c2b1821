/* The reference allocator called by several lanes at once, under every scenario and a portfolio of
 * schedules: no promise broken.  HBMSTRESS_SEEDS (5 by default) says how many lists of each. */
#include "explore/strategies/strategies.h"
#include "harness/lanes/lanes_search.h"
#include "harness/op/ops_file.h"
#include "harness/run/trial.h"
#include "harness/trial/lane_trial.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SCHEDULE_COUNT = 40 };

static uint64_t seed_count(void)
{
    const char *text = getenv("HBMSTRESS_SEEDS");
    const uint64_t count = text == NULL ? 0 : strtoull(text, NULL, 10);
    return count == 0 ? draws_count(5, 1) : count;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("HBMSTRESS_FIRST_SEED");
    return text == NULL ? 1 : strtoull(text, NULL, 10);
}

/* True: every promise was kept. */
static bool keeps_promises(const struct scenario *scenario, uint64_t seed,
                           struct run_totals *totals)
{
    struct setup setup;
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&setup);
    snprintf(setup.chip, sizeof setup.chip, "%s", scenario->chip);
    setup.capacity_bytes = chip_find(scenario->chip)->capacity_bytes;
    setup.seed = seed;
    const struct lane_trial_plan plan = {
        .draw = {.target = target_find("hbm"),
                 .scenario = scenario,
                 .setup = &setup,
                 .capacity_is_free = true,
                 .op_count_max = scenario->ops_per_trial},
        .lane_count = (uint8_t)(2 + seed % 3),
        .search = {.strategy = &strategy_portfolio,
                   .seed = seed,
                   .schedule_count_max = SCHEDULE_COUNT,
                   .backend = seed % 8 == 7 ? SCHEDULER_THREADS : SCHEDULER_FIBERS},
    };
    ck_assert_msg(lane_trial_run(&plan, NULL, &trial, &found, reason), "%s", reason);
    const bool is_kept = trial.first.kind == VERDICT_NONE;
    if (!is_kept) {
        printf("%s seed %" PRIu64 " op %u: %s: %s\n", scenario->name, seed, trial.first.op,
               rule_info(trial.first.rule)->name, trial.first.reason);
        if (getenv("HBMSTRESS_PRINT") != NULL) {
            ops_file_print(stdout, &trial.setup, &trial.ops, trial.first.reason);
        }
    }
    run_totals_add(totals, &trial.totals);
    trial_deinit(&trial);
    return is_kept;
}

EVERY_TEST(.timeout_s = 1200);

TEST(hbm_keeps_its_promises_to_lanes, .count = count_scenarios)
{
    const struct scenario *scenario = scenarios[_i];
    struct run_totals totals = {0};
    uint64_t failed = 0;
    if (scenario->has_clocks) {
        return; /* lanes have one time for all hosts */
    }
    for (uint64_t seed = first_seed(); seed <= seed_count(); seed++) {
        failed += !keeps_promises(scenario, seed, &totals);
    }
    printf("%s: %" PRIu64 " ops, %" PRIu64 " OOMs, %" PRIu64 " excused, %" PRIu64
           " unknown; %" PRIu64 " of %" PRIu64 " seeds failed\n",
           scenario->name, totals.ops, totals.ooms, totals.excused, totals.unknown, failed,
           seed_count());
    ck_assert_uint_eq(failed, 0);
}
