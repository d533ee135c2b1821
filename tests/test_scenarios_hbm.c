/* The reference allocator under every scenario: no promise broken, no OOM premature, none left unknown.
 * HBMSTRESS_SEEDS (10 by default) says how many seeds of each. */
#include "harness/run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t seed_count(void)
{
    const char *text = getenv("HBMSTRESS_SEEDS");
    const uint64_t count = text == NULL ? 0 : strtoull(text, NULL, 10);
    return count == 0 ? 10 : count;
}

START_TEST(hbm_keeps_its_promises)
{
    const struct scenario *scenario = scenarios[_i];
    struct run_totals totals = {0};
    uint64_t failed = 0;
    for (uint64_t seed = 1; seed <= seed_count(); seed++) {
        struct setup setup;
        struct trial trial;
        char reason[RUN_REASON_BYTES] = "";
        setup_init(&setup);
        snprintf(setup.chip, sizeof setup.chip, "%s", scenario->chip);
        setup.capacity_bytes = chip_find(scenario->chip)->capacity_bytes;
        setup.seed = seed;
        const struct trial_plan plan = {.target = target_find("hbm"), .scenario = scenario, .setup = &setup,
                                        .capacity_is_free = true, .op_count_max = scenario->ops_per_trial};
        ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
        if (trial.first.kind != VERDICT_NONE || trial.totals.unknown > 0) {
            failed++;
            printf("%s seed %llu op %u: %s: %s; %llu unknown\n", scenario->name, (unsigned long long)seed,
                   trial.first.op, rule_info(trial.first.rule)->name, trial.first.reason,
                   (unsigned long long)trial.totals.unknown);
        }
        run_totals_add(&totals, &trial.totals);
        trial_deinit(&trial);
    }
    printf("%s: %llu ops, %llu OOMs judged, %llu of %llu seeds failed\n", scenario->name,
           (unsigned long long)totals.ops, (unsigned long long)(totals.justified + totals.premature + totals.unknown),
           (unsigned long long)failed, (unsigned long long)seed_count());
    ck_assert_uint_eq(failed, 0);
}
END_TEST

int main(void)
{
    int count = 0;
    while (scenarios[count] != NULL) {
        count++;
    }
    Suite *suite = suite_create("scenarios_hbm");
    TCase *cases = tcase_create("scenarios_hbm");
    tcase_set_timeout(cases, 1200);
    tcase_add_loop_test(cases, hbm_keeps_its_promises, 0, count);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
