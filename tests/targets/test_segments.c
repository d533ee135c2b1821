/* The target segments keeps what it declares, and each planted defect of it is caught by the rule
 * that it names. */
#include "harness/lanes/lanes.h"
#include "harness/sweep/sweep.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OP_COUNT_MAX = 4000, SEED_COUNT = 3, TRIAL_COUNT_MAX = 64 };

static const char *const grounds[] = {"fragmentation_storm", "queued_free_race", "exact_edge",
                                      "crowded"};
enum { GROUND_COUNT = sizeof grounds / sizeof grounds[0] };

/* An option "key=value", or NULL. */
struct wish {
    const struct target *target;
    const char *scenario;
    const char *key, *value;
    uint32_t faults;
    uint64_t capacity_bytes; /* 0: drawn by the scenario */
};

/* Of some twenty regions: many neighbours, and seldom room for another. */
#define SMALL_CAPACITY_BYTES (UINT64_C(40) << 20)

static void set_wish(struct setup *setup, const struct wish *wish)
{
    setup_init(setup);
    (void)snprintf(setup->target, sizeof setup->target, "%s", wish->target->name);
    if (wish->key != NULL) {
        ck_assert(setup_set_option(setup, wish->key, wish->value));
    }
    if (wish->capacity_bytes != 0) {
        setup->chip[0] = '\0';
        setup->capacity_bytes = wish->capacity_bytes;
    }
}

/* Trials until a promise is broken or the ops are used up.  The rule; RULE_NONE: none was. */
static enum rule run_trials(const struct wish *wish, uint64_t seed, struct run_totals *totals)
{
    uint64_t op_count = 0;
    enum rule broken = RULE_NONE;
    for (uint64_t i = 0; i < TRIAL_COUNT_MAX && op_count < OP_COUNT_MAX && broken == RULE_NONE;
         i++) {
        struct setup setup;
        struct trial trial;
        char reason[RUN_REASON_BYTES];
        set_wish(&setup, wish);
        setup.seed = random_derive(seed, i);
        const struct trial_plan plan = {.target = wish->target,
                                        .scenario = scenario_find(wish->scenario),
                                        .setup = &setup,
                                        .capacity_is_free = wish->capacity_bytes == 0,
                                        .op_count_max = OP_COUNT_MAX - op_count,
                                        .faults = {.kinds = wish->faults}};
        ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
        op_count += trial.ops.count;
        run_totals_add(totals, &trial.totals);
        broken = trial.first.kind == VERDICT_PREMATURE ? RULE_PREMATURE : trial.first.rule;
        trial_deinit(&trial);
    }
    return broken;
}

EVERY_TEST(.timeout_s = 120);

TEST(what_it_declares_it_keeps, .to = GROUND_COUNT)
{
    static const uint32_t faults[] = {0, FAULTING_ALL};
    static const struct {
        const char *key, *value;
    } options[] = {{NULL, NULL}, {"empty", "keep"}, {"trims", "no"}};
    struct run_totals totals = {0};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
            const struct wish wish = {.target = &target_segments,
                                      .scenario = grounds[_i],
                                      .key = options[i].key,
                                      .value = options[i].value,
                                      .faults = faults[seed % 2]};
            ck_assert_int_eq(run_trials(&wish, seed, &totals), RULE_NONE);
        }
    }
    ck_assert_uint_gt(totals.justified, 100);
    ck_assert_uint_eq(totals.unknown, 0);
}

static int plant_count(void)
{
    int count = 0;
    while (segments_plants[count] != NULL) {
        count++;
    }
    return count;
}

TEST(a_planted_defect_is_caught_by_the_rule_that_it_names, .count = plant_count)
{
    const struct target *plant = segments_plants[_i];
    unsigned caught_count = 0;
    ck_assert_ptr_eq(target_find(plant->name), plant);
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        enum rule broken = RULE_NONE;
        for (size_t i = 0; i < GROUND_COUNT && broken == RULE_NONE; i++) {
            struct run_totals totals = {0};
            const struct wish wish = {
                .target = plant, .scenario = grounds[i], .capacity_bytes = SMALL_CAPACITY_BYTES};
            broken = run_trials(&wish, seed, &totals);
        }
        caught_count += broken == rule_find(plant->breaks);
    }
    ck_assert_msg(caught_count == SEED_COUNT, "%s: caught for %u of %d seeds", plant->name,
                  caught_count, (int)SEED_COUNT);
}

TEST(each_region_call_fails_in_a_sweep_and_all_memory_is_had_again)
{
    struct setup setup;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    const struct wish wish = {.target = &target_segments,
                              .scenario = "queued_free_race",
                              .capacity_bytes = SMALL_CAPACITY_BYTES};
    static struct sweep_result result;
    set_wish(&setup, &wish);
    const struct trial_plan plan = {.target = wish.target,
                                    .scenario = scenario_find(wish.scenario),
                                    .setup = &setup,
                                    .op_count_max = 60};
    ck_assert_msg(trial_run(&plan, NULL, &trial, reason), "%s", reason);
    const struct sweep sweep = {.target = wish.target, .setup = &trial.setup, .ops = &trial.ops};
    ck_assert_msg(sweep_run(&sweep, &result, reason), "%s", reason);
    ck_assert(sweep_is_complete(&result));
    ck_assert_uint_eq(sweep_findings(&result), 0);
    ck_assert_uint_gt(result.kinds[FAULT_REGION].calls, 3);
    ck_assert_uint_eq(result.kinds[FAULT_REGION].failed[SWEEP_ONCE],
                      result.kinds[FAULT_REGION].calls);
    ck_assert_uint_gt(result.kinds[FAULT_REGION_SHORT].failed[SWEEP_ONCE], 3);
    trial_deinit(&trial);
}

TEST(a_contract_that_grows_has_no_lanes)
{
    const struct target_contract contract = {.thread_safe = true, .queues_frees = true};
    struct target_contract growing = contract;
    growing.regions.grows = true;
    ck_assert_ptr_null(lanes_why_not(&contract));
    ck_assert_ptr_nonnull(strstr(lanes_why_not(&growing), "regions"));
}
