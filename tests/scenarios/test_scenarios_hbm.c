/* The reference allocator under every scenario, with every mitigation and without waiting or
 * evicting: no promise broken, no OOM premature, none left unknown.  HBMSTRESS_SEEDS (10 by
 * default, in a short run 3) says how many seeds of each; without a mitigation it is a third, and
 * of a scenario with long trials also. */
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t seed_count(void)
{
    const char *text = getenv("HBMSTRESS_SEEDS");
    const uint64_t count = text == NULL ? 0 : strtoull(text, NULL, 10);
    return count == 0 ? draws_count(10, 1) : count;
}

/* off: an option of hbm that is turned off; NULL: none. */
static void keep_promises(const struct scenario *scenario, const char *off, uint64_t seeds,
                          struct run_totals *totals)
{
    uint64_t failed = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct trial trial;
        wish_play(&(struct trial_wish){"hbm", scenario, seed, .key = off, .value = "no"}, &trial);
        if (trial.first.kind != VERDICT_NONE || trial.totals.unknown > 0) {
            failed++;
            printf("%s seed %" PRIu64 " op %u: %s: %s; %" PRIu64 " unknown\n", scenario->name, seed,
                   trial.first.op, rule_info(trial.first.rule)->name, trial.first.reason,
                   trial.totals.unknown);
        }
        run_totals_add(totals, &trial.totals);
        trial_deinit(&trial);
    }
    printf("%s%s%s: %" PRIu64 " ops, %" PRIu64 " OOMs judged, %" PRIu64 " of %" PRIu64
           " seeds failed\n",
           scenario->name, off == NULL ? "" : " without ", off == NULL ? "" : off, totals->ops,
           (totals->justified + totals->premature + totals->unknown), failed, seeds);
    ck_assert_uint_eq(failed, 0);
}

EVERY_TEST(.timeout_s = 1200);

TEST(hbm_keeps_its_promises, .count = count_scenarios)
{
    struct run_totals totals = {0};
    const bool is_long = scenarios[_i]->op_count_default != 0;
    keep_promises(scenarios[_i], NULL, (seed_count() + 2) / (is_long ? 3 : 1), &totals);
}

TEST(what_hbm_does_not_promise_it_does_not_do, .count = count_scenarios)
{
    const uint64_t seeds = (seed_count() + 2) / 3;
    if (scenarios[_i]->op_count_default != 0 && draws_period() > 1) {
        return; /* long ones are for the night */
    }
    struct run_totals without_drains = {0}, without_evicts = {0};
    keep_promises(scenarios[_i], "drains", seeds, &without_drains);
    ck_assert_uint_eq(without_drains.drains, 0);
    keep_promises(scenarios[_i], "evicts", seeds, &without_evicts);
}
