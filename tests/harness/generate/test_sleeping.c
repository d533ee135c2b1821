/* Sleeps slipped into scenarios: only for targets that sleep, each with its wake, and some fail. */
#include "harness/generate/slipping.h"
#include "harness/run/run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

enum { OP_COUNT = 3000, SEED_COUNT = 4 };

static void run_trial_with(uint32_t faults, const char *sleep, const struct scenario *scenario,
                           uint64_t seed, struct trial *trial)
{
    wish_play(&(struct trial_wish){"hbm", scenario, seed, OP_COUNT, .faults = faults,
                                   .key = sleep == NULL ? NULL : "sleep", .value = sleep},
              trial);
    ck_assert_msg(trial->first.kind != VERDICT_BROKEN && trial->first.kind != VERDICT_PREMATURE,
                  "%s, seed %llu: %s: %s", scenario->name, (unsigned long long)seed,
                  rule_info(trial->first.rule)->name, trial->first.reason);
}

static void run_trial(const char *sleep, const struct scenario *scenario, uint64_t seed,
                      struct trial *trial)
{
    run_trial_with(FAULTING_ALL, sleep, scenario, seed, trial);
}

EVERY_TEST(.timeout_s = 120);

TEST(a_target_that_sleeps_keeps_its_word_in_every_scenario, .count = count_scenarios)
{
    static const char *const contracts[] = {"keeps", "discards"};
    uint64_t sleeps = 0, ops = 0;
    for (uint64_t seed = 0; seed < draws_count(SEED_COUNT, 2); seed++) {
        struct trial trial;
        run_trial(contracts[seed % 2], scenarios[_i], seed, &trial);
        sleeps += trial.totals.by_kind[OP_SLEEP];
        ops += trial.totals.ops;
        ck_assert_uint_le(trial.totals.skipped_by_kind[OP_SLEEP], 0);
        ck_assert_uint_le(trial.totals.skipped_by_kind[OP_WAKE], 0);
        trial_deinit(&trial);
    }
    /* A game that is over after some hundred ops may have none. */
    ck_assert_msg(sleeps > 0 || ops < 10 * SLEEPING_PERIOD, "%s: nobody slept",
                  scenarios[_i]->name);
}

TEST(others_are_drawn_as_before)
{
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        struct trial plain, none;
        run_trial(NULL, scenario_find("training_step"), seed, &plain);
        run_trial("none", scenario_find("training_step"), seed, &none);
        ck_assert_uint_eq(plain.digest, none.digest);
        ck_assert_uint_eq(plain.totals.by_kind[OP_SLEEP], 0);
        trial_deinit(&plain);
        trial_deinit(&none);
    }
}

/* Between a sleep that is OK and its wake only faults come; some wakes come twice. */
TEST(every_sleep_is_woken_from_and_some_wakes_fail)
{
    uint64_t sleeps = 0, failed = 0, again = 0;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        struct trial trial;
        run_trial("keeps", scenario_find("training_step"), seed, &trial);
        for (size_t i = 1; i < trial.ops.count; i++) {
            const uint8_t before = trial.ops.ops[i - 1].kind, kind = trial.ops.ops[i].kind;
            sleeps += kind == OP_SLEEP;
            failed += before == OP_WAKE && kind == OP_WAKE;
            again += before == OP_WAKE && kind == OP_SLEEP;
        }
        trial_deinit(&trial);
    }
    ck_assert_uint_gt(sleeps, 20);
    ck_assert_uint_gt(failed, 2);
    ck_assert_uint_gt(again, 5);
}

TEST(where_no_fault_is_wished_for_none_comes)
{
    struct trial trial;
    run_trial_with(0, "keeps", scenario_find("training_step"), 1, &trial);
    ck_assert_uint_gt(trial.totals.by_kind[OP_SLEEP], 0);
    ck_assert_uint_eq(trial.totals.by_kind[OP_FAULT], 0);
    trial_deinit(&trial);
}
