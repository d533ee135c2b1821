/* Each planted target is caught, and by the rule that it names; the reference is not. */
#include "harness/run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_COUNT = 20, CAUGHT_MIN = 19, OP_COUNT_MAX = 10000, TRIAL_COUNT_MAX = 64 };

/* Where a plant must be caught.  A plant is run there and nowhere else, because a scenario without programs, say,
 * cannot show that programs are evicted wrongly. */
struct ground {
    const char *target, *scenario;
};
static const struct ground grounds[] = {
    {"plant_premature_undrained", "queued_free_race"},
    {"plant_premature_stalled", "queued_free_race"},
    {"plant_premature_unretried", "queued_free_race"},
    {"plant_premature_defragmented_once", "fragmentation_storm"},
    {"plant_premature_evicted_once", "eviction_pressure"},
    {"plant_premature_rounded", "fragmentation_storm"},
    {"plant_premature_binned", "fragmentation_storm"},
    {"plant_premature_last_hole", "fragmentation_storm"},
    {"plant_overlap", "fragmentation_storm"},
    {"plant_outside", "training_step"},
    {"plant_misaligned", "fragmentation_storm"},
    {"plant_too_small", "training_step"},
    {"plant_contents", "defrag_published"},
    {"plant_reused_early", "queued_free_race"},
    {"plant_held_moved", "training_step"},
    {"plant_moved_unasked", "fragmentation_storm"},
    {"plant_busy_evicted", "eviction_pressure"},
    {"plant_wrong_eviction", "eviction_pressure"},
    {"plant_failed_changed", "fragmentation_storm"},
    {"plant_counters", "slow_leak"},
    {"plant_message", "eviction_pressure"},
    {"plant_report", "queued_free_race"},
    {"plant_status", "exact_edge"},
    {"plant_handle", "recompilation_churn"},
    {"plant_hang", "recompilation_churn"},
    {"plant_not_coalesced", "slow_leak"},
    {"plant_host_memory", "late_program"},
    {"plant_spmd", "host_skew"},
    {"plant_replay", "queued_free_race"},
};
enum { GROUND_COUNT = sizeof grounds / sizeof grounds[0] };

/* What a trial broke, with its reason; NULL when it kept every promise. */
static const char *broken_by(const struct target *target, const struct trial *trial, char text[512])
{
    enum rule rule = trial->first.kind == VERDICT_PREMATURE ? RULE_PREMATURE : trial->first.rule;
    if (trial->first.kind != VERDICT_PREMATURE && trial->first.kind != VERDICT_BROKEN) {
        rule = RULE_NONE;
        /* The one rule that takes two runs to judge. */
        char reason[RUN_REASON_BYTES];
        struct trial again;
        if (trial_replay(target, &trial->setup, &trial->ops, NULL, &again, reason)) {
            rule = again.digest != trial->digest ? RULE_REPLAY : RULE_NONE;
            trial_deinit(&again);
        }
    }
    (void)snprintf(text, 512, "seed %llu, op %u: %s: %s", (unsigned long long)trial->setup.seed, trial->first.op,
                   rule_info(rule)->name, trial->first.reason);
    return rule == RULE_NONE ? NULL : rule_info(rule)->name;
}

/* Trials of one seed until a promise is broken or the ops are used up; NULL: none was. */
static const char *run_seed(const struct target *target, const struct scenario *scenario, uint64_t seed,
                            char text[512])
{
    uint64_t op_count = 0;
    const char *broken = NULL;
    for (uint64_t i = 0; i < TRIAL_COUNT_MAX && op_count < OP_COUNT_MAX && broken == NULL; i++) {
        struct setup setup;
        struct trial trial;
        char reason[RUN_REASON_BYTES];
        setup_init(&setup);
        (void)snprintf(setup.target, sizeof setup.target, "%s", target->name);
        setup.seed = random_derive(seed, i);
        ck_assert_msg(trial_run(target, scenario, &setup, true, OP_COUNT_MAX - op_count, NULL, &trial, reason),
                      "%s: %s", target->name, reason);
        op_count += trial.ops.count;
        broken = broken_by(target, &trial, text);
        trial_deinit(&trial);
    }
    return broken;
}

START_TEST(a_plant_is_caught_by_the_rule_that_it_names)
{
    const struct ground *ground = &grounds[_i];
    const struct target *target = target_find(ground->target);
    const struct scenario *scenario = scenario_find(ground->scenario);
    unsigned caught_count = 0;
    char missed[512] = "kept every promise";
    ck_assert_ptr_nonnull(target);
    ck_assert_ptr_nonnull(scenario);
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        char text[512];
        const char *broken = run_seed(target, scenario, seed, text);
        if (broken != NULL && strcmp(broken, target->breaks) == 0) {
            caught_count++;
        } else if (broken != NULL) {
            memcpy(missed, text, sizeof missed);
        }
    }
    ck_assert_msg(caught_count >= CAUGHT_MIN, "%s in %s: caught for %u of %d seeds; else: %s", target->name,
                  scenario->name, caught_count, SEED_COUNT, missed);
}
END_TEST

START_TEST(the_reference_breaks_nothing_there)
{
    const struct scenario *scenario = scenarios[_i];
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        char text[512];
        ck_assert_msg(run_seed(&target_hbm, scenario, seed, text) == NULL, "%s: %s", scenario->name, text);
    }
}
END_TEST

START_TEST(every_rule_has_a_plant_and_every_plant_a_ground)
{
    bool has_plant[RULE_COUNT] = {false};
    for (size_t i = 0; targets[i] != NULL; i++) {
        if (targets[i]->breaks == NULL) {
            continue;
        }
        const enum rule rule = rule_find(targets[i]->breaks);
        ck_assert_msg(rule != RULE_NONE, "%s: no rule is called %s", targets[i]->name, targets[i]->breaks);
        has_plant[rule] = true;
        bool has_ground = false;
        for (size_t k = 0; k < GROUND_COUNT; k++) {
            has_ground = has_ground || strcmp(grounds[k].target, targets[i]->name) == 0;
        }
        ck_assert_msg(has_ground, "%s is run nowhere", targets[i]->name);
    }
    for (unsigned rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        ck_assert_msg(has_plant[rule], "no plant breaks %s", rule_info((enum rule)rule)->name);
    }
}
END_TEST

static int scenario_count(void)
{
    int count = 0;
    while (scenarios[count] != NULL) {
        count++;
    }
    return count;
}

int main(void)
{
    Suite *suite = suite_create("targets_plants");
    TCase *plants = tcase_create("plants");
    suite_add_tcase(suite, plants);
    tcase_add_test(plants, every_rule_has_a_plant_and_every_plant_a_ground);
    tcase_add_loop_test(plants, a_plant_is_caught_by_the_rule_that_it_names, 0, GROUND_COUNT);
    tcase_add_loop_test(plants, the_reference_breaks_nothing_there, 0, scenario_count());
    return suite_run(suite);
}
