/* The targets segments and caching keep what they declare, and each planted defect of them is
 * caught by the rule that it names. */
#include "harness/lanes/lanes.h"
#include "harness/sweep/sweep.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OP_COUNT_MAX = 4000, SEED_COUNT = 3, TRIAL_COUNT_MAX = 64 };

static const char *const grounds[] = {"fragmentation_storm", "queued_free_race", "exact_edge",
                                      "crowded"};
enum { GROUND_COUNT = sizeof grounds / sizeof grounds[0] };

struct wish {
    const struct target *target;
    const char *scenario;
    const char *const *options; /* keys and values, ended by NULL; NULL: none */
    uint32_t faults;
    uint64_t capacity_bytes; /* 0: drawn by the scenario */
};

/* Of some twenty regions: many neighbours, and seldom room for another. */
#define SMALL_CAPACITY_BYTES (UINT64_C(40) << 20)

static void set_wish(struct setup *setup, const struct wish *wish)
{
    setup_init(setup);
    (void)snprintf(setup->target, sizeof setup->target, "%s", wish->target->name);
    for (const char *const *at = wish->options; at != NULL && *at != NULL; at += 2) {
        ck_assert(setup_set_option(setup, at[0], at[1]));
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

enum { OPTION_COUNT_MAX = 4 };
static const struct kept {
    const struct target *target;
    const char *options[2 * OPTION_COUNT_MAX + 1];
    uint64_t capacity_bytes, seed_count;
} kept[] = {
    {&target_segments, {NULL}, 0, SEED_COUNT},
    {&target_segments, {"empty", "keep"}, 0, SEED_COUNT},
    {&target_segments, {"trims", "no"}, 0, SEED_COUNT},
    {&target_caching, {NULL}, SMALL_CAPACITY_BYTES, 2},
    {&target_caching, {"pools", "one", "limit", "device"}, SMALL_CAPACITY_BYTES, 2},
    {&target_caching,
     {"pools", "one", "limit", "device", "roundup_power2_divisions", "4"},
     SMALL_CAPACITY_BYTES,
     2},
    {&target_caching, {"expandable_segments", "True", "limit", "device"}, SMALL_CAPACITY_BYTES, 2},
    {&target_caching, {"max_split_size_mb", "20", "ties", "counter"}, SMALL_CAPACITY_BYTES, 2},
    {&target_caching,
     {"roundup_power2_divisions", "8", "max_split_size_mb", "32"},
     SMALL_CAPACITY_BYTES,
     2},
    {&target_caching,
     {"per_process_memory_fraction", "0.7", "garbage_collection_threshold", "0.5"},
     SMALL_CAPACITY_BYTES,
     2},
};

/* Judged as far as the contract goes. */
TEST(what_each_declares_it_keeps, .to = 2 * GROUND_COUNT)
{
    const struct target *target = _i < GROUND_COUNT ? &target_segments : &target_caching;
    struct run_totals totals = {0};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        const uint64_t seeds = kept[i].target == target ? draws_count(kept[i].seed_count, 1) : 0;
        for (uint64_t seed = 0; seed < seeds; seed++) {
            const struct wish wish = {.target = target,
                                      .scenario = grounds[_i % GROUND_COUNT],
                                      .options = kept[i].options,
                                      .faults = seed % 2 == 0 ? 0 : FAULTING_ALL,
                                      .capacity_bytes = kept[i].capacity_bytes};
            ck_assert_int_eq(run_trials(&wish, seed, &totals), RULE_NONE);
        }
    }
    ck_assert_uint_gt(totals.justified, 100);
    ck_assert_uint_eq(totals.unknown, 0);
}

static int count_plants(const struct target *const *plants)
{
    int count = 0;
    while (plants[count] != NULL) {
        count++;
    }
    return count;
}

static int count_segments_plants(void)
{
    return count_plants(segments_plants);
}

static int count_caching_plants(void)
{
    return count_plants(caching_plants);
}

static enum rule break_plant(const struct target *plant, const char *ground, uint64_t seed)
{
    struct run_totals totals = {0};
    const struct wish wish = {
        .target = plant, .scenario = ground, .capacity_bytes = SMALL_CAPACITY_BYTES};
    ck_assert_ptr_eq(target_find(plant->name), plant);
    return run_trials(&wish, seed, &totals);
}

TEST(a_planted_defect_of_segments_is_caught_by_the_rule_that_it_names,
     .count = count_segments_plants)
{
    const struct target *plant = segments_plants[_i];
    unsigned caught_count = 0;
    for (uint64_t seed = 0; seed < SEED_COUNT; seed++) {
        enum rule broken = RULE_NONE;
        for (size_t i = 0; i < GROUND_COUNT && broken == RULE_NONE; i++) {
            broken = break_plant(plant, grounds[i], seed);
        }
        caught_count += broken == rule_find(plant->breaks);
    }
    ck_assert_msg(caught_count == SEED_COUNT, "%s: caught for %u of %d seeds", plant->name,
                  caught_count, (int)SEED_COUNT);
}

/* The first rule that is broken may be another one that the defect breaks, too. */
TEST(a_planted_defect_of_caching_is_caught_by_the_rule_that_it_names, .count = count_caching_plants)
{
    bool is_caught = false;
    for (size_t i = 0; i < GROUND_COUNT; i++) {
        const enum rule broken = break_plant(caching_plants[_i], grounds[i], 2);
        is_caught = is_caught || broken == rule_find(caching_plants[_i]->breaks);
    }
    ck_assert_msg(is_caught, "%s", caching_plants[_i]->name);
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
