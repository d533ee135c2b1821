#include "tests/scenarios/drawn_lanes.h"

#include "explore/strategies/strategies.h"
#include "harness/op/ops_file.h"
#include "harness/trial/lane_trial.h"
#include "tests/helpers/lists.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t number_given(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    const uint64_t number = text == NULL ? 0 : strtoull(text, NULL, 10);
    return number == 0 ? usual : number;
}

static bool keeps_promises(const struct drawn_lanes *lanes, const struct scenario *scenario,
                           uint64_t seed, struct run_totals *totals)
{
    struct setup setup;
    struct trial trial;
    struct lanes_found found;
    char reason[RUN_REASON_BYTES] = "";
    wish_set_up(&(struct trial_wish){"hbm", scenario, .seed = seed}, &setup);
    const struct lane_trial_plan plan = {
        .draw = {.target = lanes->target,
                 .scenario = scenario,
                 .setup = &setup,
                 .capacity_is_free = true,
                 .op_count_max = scenario->ops_per_trial},
        .lane_count = (uint8_t)(lanes->lanes_least + seed % lanes->lanes_variety),
        .search = {.strategy = &strategy_portfolio,
                   .seed = seed,
                   .schedule_count_max = lanes->schedule_count,
                   .backend = lanes->has_threads && seed % 8 == 7 ? SCHEDULER_THREADS
                                                                  : SCHEDULER_FIBERS},
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

void drawn_lanes_keep_promises(const struct drawn_lanes *lanes, const struct scenario *scenario)
{
    struct run_totals totals = {0};
    const uint64_t seed_count = number_given("HBMSTRESS_SEEDS", lanes->seed_count);
    uint64_t failed = 0;
    if (scenario->has_clocks) {
        return; /* lanes have one time for all hosts */
    }
    for (uint64_t seed = number_given("HBMSTRESS_FIRST_SEED", 1); seed <= seed_count; seed++) {
        failed += !keeps_promises(lanes, scenario, seed, &totals);
    }
    printf("%s: %" PRIu64 " ops, %" PRIu64 " OOMs, %" PRIu64 " excused, %" PRIu64
           " unknown; %" PRIu64 " of %" PRIu64 " seeds failed\n",
           scenario->name, totals.ops, totals.ooms, totals.excused, totals.unknown, failed,
           seed_count);
    ck_assert_uint_eq(failed, 0);
}
