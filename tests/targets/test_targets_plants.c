/* Each planted target is caught, and by the rule that it names; the reference is not.  What is said
 * of its out-of-memories is proved. */
#include "checker/certificate_check.h"
#include "harness/run/run.h"
#include "harness/trial/related.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/deadly.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/faulty_scenario.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The reference is run with fewer seeds than the plants: ci/nightly gives it the same scenarios for
 * hours. */
enum {
    SEED_COUNT = 10,
    SEED_COUNT_MIN = 2,
    MISSED_MAX = 1,
    REFERENCE_SEED_COUNT = 5,
    REGRET_SEED_COUNT = 5,
    REGRET_COUNT_MIN = 80, /* for each seed */
    OP_COUNT_MAX = 10000,
    TRIAL_COUNT_MAX = 64
};

/* Where a plant must be caught.  A plant is run there and nowhere else, because a scenario without
 * programs, say, cannot show that programs are evicted wrongly. */
struct ground {
    const char *target, *scenario;
};
static const struct ground grounds[] = {
    {"plant_premature_undrained", "queued_free_race"},
    {"plant_premature_stalled", "queued_free_race"},
    {"plant_premature_unretried", "queued_free_race"},
    {"plant_premature_moved_unretried", "fragmentation_storm"},
    {"plant_premature_defragmented_once", "fragmentation_storm"},
    {"plant_premature_evicted_once", "eviction_pressure"},
    {"plant_premature_rounded", "fragmentation_storm"},
    {"plant_premature_binned", "fragmentation_storm"},
    {"plant_premature_last_hole", "fragmentation_storm"},
    {"plant_classes_rounding", "fragmentation_storm"},
    {"plant_classes_leaking", "slow_leak"},
    {"plant_too_large_classes", "training_step"},
    {"plant_premature_reserve", "fragmentation_storm"},
    {"plant_premature_starving", "reacting_clients"},
    {"plant_premature_aborted", "reacting_clients"},
    {"plant_retry", "fragmentation_storm"},
    {"plant_overlap", "fragmentation_storm"},
    {"plant_outside", "training_step"},
    {"plant_misaligned", "fragmentation_storm"},
    {"plant_too_small", "training_step"},
    {"plant_too_large", "training_step"},
    {"plant_contents", "defrag_published"},
    {"plant_reused_early", "queued_free_race"},
    {"plant_held_moved", "training_step"},
    {"plant_moved_unasked", "fragmentation_storm"},
    {"plant_busy_evicted", "eviction_pressure"},
    {"plant_wrong_eviction", "eviction_pressure"},
    {"plant_failed_changed", "fragmentation_storm"},
    {"plant_failed_size", "fragmentation_storm"},
    {"plant_failed_image", "eviction_pressure"},
    {"plant_failed_row", "fragmentation_storm"},
    {"plant_failed_tidied", "exact_edge"},
    {"plant_failed_free", "faulty"},
    {"plant_failed_stage", "fragmentation_storm"},
    {"plant_failed_peak", "defrag_published"},
    {"plant_failed_hole", "exact_edge"},
    {"plant_counters", "slow_leak"},
    {"plant_message", "eviction_pressure"},
    {"plant_report", "queued_free_race"},
    {"plant_status", "exact_edge"},
    {"plant_handle", "recompilation_churn"},
    {"plant_hang", "recompilation_churn"},
    {"plant_not_coalesced", "slow_leak"},
    {"plant_host_memory", "late_program"},
    {"plant_spmd", "host_skew"},
    {"plant_spmd_one_host", "mesh_skew"},
    {"plant_one_host_leaking", "mesh_skew"},
    {"plant_replay", "queued_free_race"},
    {"plant_relation_names", "queued_free_race"},
    {"plant_relation_sizes", "queued_free_race"},
    {"plant_overrun", "fragmentation_storm"},
    {"plant_contents_scribble", "faulty"},
    {"plant_contents_lost_copy", "faulty"},
    {"plant_host_memory_grow", "fragmentation_storm"},
    {"plant_counters_failed", "faulty"},
    {"plant_overlap_half_unload", "faulty"},
    {"plant_header_aligned", "crowded"},
    {"plant_paged_neighbours", "fragmentation_storm"},
    {"plant_paged_mismapped", "queued_free_race"},
    {"plant_paged_leaking", "crowded"},
    {"plant_hidden_leaking", "crowded"},
    {"plant_buddy_middle", "fragmentation_storm"},
    {"plant_buddy_unmerged", "fragmentation_storm"},
    {"plant_buddy_late", "queued_free_race"},
    {"plant_not_released", "training_step"},
    {"plant_not_released_pieces", "serving_beside_training"},
    {"plant_wake_forgets", "training_step"},
    {"plant_wake_moves", "training_step"},
    {"plant_wake_refuses", "training_step"},
    {"plant_wake_grows", "training_step"},
    {"plant_wake_grows_stage", "training_step"},
    {"plant_counters_late_back", "training_step"},
    {"plant_counters_too_late", "training_step"},
    {"plant_counters_below", "training_step"},
    {"plant_order_evicts_first", "training_step"},
    {"plant_order_moves_first", "crowded"},
    {"plant_order_evicts_another", "eviction_pressure"},
    {"plant_order_keeps_programs", "eviction_pressure"},
    {"plant_ownership", "training_step"},
    {"plant_ownership_forgets", "training_step"},
    {"plant_held_back", "mesh_skew"},
    {"plant_cost_polls", "fragmentation_storm"},
    {"plant_cost_closes_up", "fragmentation_storm"},
    {"plant_cost_walks", "fragmentation_storm"},
    {"plant_latency_spins", "crowded"},
    {"plant_latency_moves", "crowded"},
    {"plant_stream_crossed", "crowded"},
    {"plant_stream_forgets", "crowded"},
    {"plant_stream_stuck", "crowded"},
    {"plant_stream_uses", "crowded"},
    {"plant_record_reused", "crowded"},
    {"plant_record_freed", "crowded"},
    {"plant_record_undropped", "crowded"},
};
enum { GROUND_COUNT = sizeof grounds / sizeof grounds[0] };

/* Plants that act at one place, in one depth or with one fault.  A local one is run where that
 * place is met, on a device of a few granules; a deep one where the tables are full, with as many
 * ops as that takes. Each seed must catch it. */
struct special_ground {
    const char *target, *scenario;
    uint64_t capacity_bytes; /* 0: drawn by the scenario */
    uint64_t op_count_max;
    uint64_t seed_count;
    uint32_t faults; /* struct fault_options */
};
static const struct special_ground special_grounds[] = {
    {"plant_premature_at_address", "fragmentation_storm", 16 << 10, OP_COUNT_MAX, 5, 0},
    {"plant_premature_at_size", "fragmentation_storm", 16 << 10, OP_COUNT_MAX, 5, 0},
    {"plant_premature_at_align", "fragmentation_storm", 16 << 10, OP_COUNT_MAX, 5, 0},
    {"plant_premature_at_count", "fragmentation_storm", 16 << 10, OP_COUNT_MAX, 5, 0},
    {"plant_contents_at_length", "fragmentation_storm", 16 << 10, OP_COUNT_MAX, 5, 0},
    {"plant_counters_polls", "queued_free_race", 0, OP_COUNT_MAX, 5, 0},
    {"plant_counters_count_late", "training_step", 0, 60000, 5, 1u << FAULT_POLL_JUMP},
    {"plant_counters_ring", "deep_queue", 0, 20000, 5, 0},
    {"plant_counters_generation", "deep_holds", 0, OP_COUNT_MAX, 5, 0},
    {"plant_counters_holds", "deep_holds", 0, OP_COUNT_MAX, 5, 0},
    {"plant_counters_table", "deep_blocks", 0, 20000, 3, 0},
    {"plant_overlap_index", "deep_blocks", 0, 80000, 1, 0},
    {"plant_not_released_half", "training_step", 0, OP_COUNT_MAX, 5, 1u << FAULT_COPY},
    {"plant_wake_loses", "training_step", 0, OP_COUNT_MAX, 5, 1u << FAULT_COPY},
};
enum { SPECIAL_GROUND_COUNT = sizeof special_grounds / sizeof special_grounds[0] };

/* Where a regret must be seen: it is a promise only where so many are too many.  The contract is
 * fixed there: blocks slide, because for that the reference moves the fewest bytes there are, and
 * the order of mitigations is the documented one.  Of these kinds the reference then has none
 * there; regret_max is twice what it has of all kinds in its worst trial. */
struct regret_ground {
    const char *target, *scenario;
    enum regret_kind kind;
    uint64_t regret_max;
};
static const struct regret_ground regret_grounds[] = {
    {"plant_regret_evicts_first", "host_skew", REGRET_EVICTED_NEEDLESSLY,
     28}, /* 2028 of them in all trials */
    {"plant_regret_moves_first", "fragmentation_storm", REGRET_MOVED_NEEDLESSLY, 8}, /* 3259 */
    {"plant_regret_evicts_all", "equal_programs", REGRET_EVICTED_TOO_MUCH, 0},       /* 22202 */
    {"plant_regret_moves_all", "defrag_published", REGRET_MOVED_TOO_MUCH, 0},        /* 2308 */
};
enum { REGRET_GROUND_COUNT = sizeof regret_grounds / sizeof regret_grounds[0] };

/* --- programs of one size --- */

/* Programs fill the device, each is executed, and a buffer needs the room of one.  Which of them
 * goes does not matter: all have one size, unlike in any scenario of the table, where the one that
 * was used longest ago is seldom the one whose eviction costs least. */
struct equal_programs {
    uint32_t program_count, step;
    uint64_t image_bytes;
};

static void equal_programs_begin(void *state, struct random *random, struct setup *setup,
                                 bool capacity_is_free)
{
    struct equal_programs *equal = state;
    ck_assert(capacity_is_free);
    equal->program_count = (uint32_t)random_between(random, 2, 12);
    equal->image_bytes = random_between(random, 1, 1000) * 512;
    setup->capacity_bytes = equal->program_count * equal->image_bytes;
}

static bool equal_programs_next(void *state, struct random *random,
                                const struct scenario_view *view, struct op *op)
{
    struct equal_programs *equal = state;
    const uint32_t count = equal->program_count;
    const uint32_t step = equal->step++;
    if (step < count) {
        *op = op_make(OP_LOAD);
        op->size_bytes = equal->image_bytes;
        return true;
    }
    /* A round: each program, time, a buffer and its end. */
    const uint32_t turn = (step - count) % (count + 3);
    if (turn < count) {
        *op = op_make(OP_EXECUTE);
        op->ref = turn;
        op->delay_ns = random_between(random, 1, 1000);
    } else if (turn == count) {
        *op = op_make(OP_ADVANCE);
        op->delay_ns = 1000;
    } else if (turn == count + 1) {
        *op = op_make(OP_ALLOC);
        op->size_bytes = random_between(random, 1, equal->image_bytes);
    } else {
        *op = op_make(OP_FREE);
        op->ref = view->op_number - 1;
    }
    return true;
}

static const struct scenario equal_programs = {
    .name = "equal_programs",
    .summary = "programs of one size that fill the device, and a buffer that needs the room of one",
    .chip = "v5e",
    .ops_per_trial = 1000,
    .needs_programs = true,
    .begin = equal_programs_begin,
    .next = equal_programs_next,
};

static const struct scenario *scenario_named(const char *name)
{
    const struct scenario *own = strcmp(name, equal_programs.name) == 0 ? &equal_programs
                                                                        : &faulty_scenario;
    const struct scenario *scenario = strcmp(name, own->name) == 0 ? own : scenario_find(name);
    ck_assert_ptr_nonnull(scenario);
    return scenario;
}

/* --- trials --- */

/* Of the justified ones so many are not checked between two that are. */
enum { JUSTIFIED_PERIOD = 64 };

/* The independent checker accepts the certificate of the OOM. */
static void check_certificate(void *context, const struct run *run, const struct verdict *verdict)
{
    char reason[CERTIFICATE_REASON_BYTES];
    struct writing text;
    (void)context;
    const bool is_sampled = verdict->kind == VERDICT_JUSTIFIED &&
                            run_totals(run)->ooms % JUSTIFIED_PERIOD == 0;
    if (verdict->kind != VERDICT_PREMATURE && verdict->kind != VERDICT_UNKNOWN && !is_sampled) {
        return;
    }
    writing_init(&text);
    run_print_certificate(run, &text);
    ck_assert_msg(certificate_check(text.bytes, text.length, reason) == CERTIFICATE_VALID, "%s\n%s",
                  reason, text.bytes);
    writing_deinit(&text);
}

/* Three runs more for each trial: those whose defect it is, and the reference, which has none. */
static bool is_asked_relations(const struct target *target)
{
    return target == &target_hbm || strcmp(target->breaks, rule_info(RULE_RELATION)->name) == 0;
}

/* What a trial broke, with its reason; NULL when it kept every promise. */
static const char *broken_by(const struct target *target, const struct trial *trial,
                             char text[1024])
{
    enum rule rule = trial->first.kind == VERDICT_PREMATURE ? RULE_PREMATURE : trial->first.rule;
    if (trial->first.kind != VERDICT_PREMATURE && trial->first.kind != VERDICT_BROKEN) {
        rule = RULE_NONE;
        /* The rules that take two runs to judge. */
        char reason[RUN_REASON_BYTES];
        struct trial again;
        if (trial_replay(target, &trial->setup, &trial->ops, NULL, &again, reason)) {
            rule = again.digest != trial->digest ? RULE_REPLAY : RULE_NONE;
            trial_deinit(&again);
        }
        struct verdict related;
        if (rule == RULE_NONE && is_asked_relations(target) &&
            related_breaks(target, trial, &related)) {
            rule = related.rule;
        }
    }
    (void)snprintf(text, 1024, "seed %" PRIu64 ", op %u: %s: %s", trial->setup.seed,
                   trial->first.op, rule_info(rule)->name, trial->first.reason);
    return rule == RULE_NONE ? NULL : rule_info(rule)->name;
}

static void forbid_regrets(struct setup *setup, uint64_t regret_max)
{
    setup->has_regret_max = true;
    setup->regret_max = regret_max;
    ck_assert(setup_set_option(setup, "order", "drain,defragment,evict"));
    ck_assert(setup_set_option(setup, "defrag", "slide"));
}

/* Where a seed is run. */
struct bounds {
    const uint64_t *regret_max; /* NULL: regrets are no matter */
    uint64_t capacity_bytes;    /* 0: drawn by the scenario */
    uint64_t op_count_max;
    uint32_t faults; /* struct fault_options */
};

/* Trials of one seed until a promise is broken or the ops are used up; NULL: none was.  Adds to
 * *totals. */
static const char *run_seed(const struct target *target, const struct scenario *scenario,
                            const struct bounds *bounds, uint64_t seed, char text[1024],
                            struct run_totals *totals)
{
    uint64_t op_count = 0;
    const char *broken = NULL;
    for (uint64_t i = 0; i < TRIAL_COUNT_MAX && op_count < bounds->op_count_max && broken == NULL;
         i++) {
        struct setup setup;
        struct trial trial;
        char reason[RUN_REASON_BYTES];
        setup_init(&setup);
        (void)snprintf(setup.target, sizeof setup.target, "%s", target->name);
        setup.seed = random_derive(seed, i);
        if (bounds->regret_max != NULL) {
            forbid_regrets(&setup, *bounds->regret_max);
        }
        if (bounds->capacity_bytes != 0) {
            setup.chip[0] = '\0';
            setup.capacity_bytes = bounds->capacity_bytes;
        }
        const struct run_listener listener = {.judged = check_certificate};
        const struct trial_plan plan = {.target = target,
                                        .scenario = scenario,
                                        .setup = &setup,
                                        .capacity_is_free = bounds->capacity_bytes == 0,
                                        .op_count_max = bounds->op_count_max - op_count,
                                        .faults = {.kinds = bounds->faults}};
        ck_assert_msg(trial_run(&plan, &listener, &trial, reason), "%s: %s", target->name, reason);
        op_count += trial.ops.count;
        run_totals_add(totals, &trial.totals);
        broken = broken_by(target, &trial, text);
        trial_deinit(&trial);
    }
    return broken;
}

static void check_caught(const struct target *target, const struct scenario *scenario,
                         const uint64_t *regret_max)
{
    const struct bounds bounds = {.regret_max = regret_max, .op_count_max = OP_COUNT_MAX};
    struct run_totals totals = {0};
    const uint64_t seed_count = draws_count(SEED_COUNT, SEED_COUNT_MIN);
    uint64_t caught_count = 0;
    char missed[1024] = "kept every promise";
    for (uint64_t seed = 1; seed <= seed_count; seed++) {
        char text[1024];
        const char *broken = run_seed(target, scenario, &bounds, seed, text, &totals);
        if (broken != NULL && strcmp(broken, target->breaks) == 0) {
            caught_count++;
        } else if (broken != NULL) {
            memcpy(missed, text, sizeof missed);
        }
    }
    ck_assert_msg(caught_count + MISSED_MAX >= seed_count,
                  "%s in %s: caught for %" PRIu64 " of %" PRIu64 " seeds; else: %s", target->name,
                  scenario->name, caught_count, seed_count, missed);
}

/* Adds to *totals. */
static void check_kept(const struct target *target, const struct scenario *scenario,
                       const uint64_t *regret_max, uint64_t seed_count, struct run_totals *totals)
{
    const struct bounds bounds = {.regret_max = regret_max, .op_count_max = OP_COUNT_MAX};
    for (uint64_t seed = 1; seed <= seed_count; seed++) {
        char text[1024];
        ck_assert_msg(run_seed(target, scenario, &bounds, seed, text, totals) == NULL,
                      "%s in %s: %s", target->name, scenario->name, text);
    }
}

/* --- tests --- */

EVERY_TEST(.timeout_s = 60);

TEST(a_plant_is_caught_by_the_rule_that_it_names, .to = GROUND_COUNT)
{
    const struct target *target = target_find(grounds[_i].target);
    ck_assert_ptr_nonnull(target);
    check_caught(target, scenario_named(grounds[_i].scenario), NULL);
}

TEST(a_plant_of_one_place_or_depth_is_caught_there, .to = SPECIAL_GROUND_COUNT)
{
    const struct special_ground *ground = &special_grounds[_i];
    const struct target *target = target_find(ground->target);
    const struct bounds bounds = {.capacity_bytes = ground->capacity_bytes,
                                  .op_count_max = ground->op_count_max,
                                  .faults = ground->faults};
    ck_assert_ptr_nonnull(target);
    for (uint64_t seed = 1; seed <= draws_count(ground->seed_count, 1); seed++) {
        char text[1024] = "kept every promise";
        struct run_totals totals = {0};
        const char *broken = run_seed(target, scenario_named(ground->scenario), &bounds, seed, text,
                                      &totals);
        ck_assert_msg(broken != NULL && strcmp(broken, target->breaks) == 0, "%s in %s: %s",
                      ground->target, ground->scenario, text);
    }
}

static int scenario_count(void)
{
    int count = 0;
    while (scenarios[count] != NULL) {
        count++;
    }
    return count;
}

TEST(the_reference_breaks_nothing_there, .count = scenario_count)
{
    struct run_totals totals = {0};
    check_kept(&target_hbm, scenarios[_i], NULL, draws_count(REFERENCE_SEED_COUNT, 1), &totals);
}

TEST(a_costly_plant_is_caught_where_the_reference_is_not, .to = REGRET_GROUND_COUNT)
{
    const struct regret_ground *ground = &regret_grounds[_i];
    const struct target *target = target_find(ground->target);
    const struct scenario *scenario = scenario_named(ground->scenario);
    struct run_totals totals = {0};
    ck_assert_ptr_nonnull(target);
    check_caught(target, scenario, &ground->regret_max);
    check_kept(&target_hbm, scenario, &ground->regret_max, draws_count(SEED_COUNT, SEED_COUNT_MIN),
               &totals);
}

/* However many regrets are allowed, so that no trial ends early. */
TEST(a_costly_plant_has_its_own_regret_and_breaks_nothing_else, .to = REGRET_GROUND_COUNT)
{
    const struct regret_ground *ground = &regret_grounds[_i];
    const struct scenario *scenario = scenario_named(ground->scenario);
    const uint64_t regret_max = UINT64_MAX;
    const uint64_t seed_count = draws_count(REGRET_SEED_COUNT, 1);
    struct run_totals planted = {0};
    struct run_totals honest = {0};
    check_kept(target_find(ground->target), scenario, &regret_max, seed_count, &planted);
    check_kept(&target_hbm, scenario, &regret_max, seed_count, &honest);
    const uint64_t planted_count = planted.regrets[ground->kind];
    const uint64_t honest_count = honest.regrets[ground->kind];
    ck_assert_msg(planted_count >= seed_count * REGRET_COUNT_MIN &&
                      100 * honest_count < planted_count,
                  "%s in %s: %s %" PRIu64 " times, the reference %" PRIu64 " times", ground->target,
                  ground->scenario, regret_info(ground->kind)->name, planted_count, honest_count);
}

static bool has_ground(const char *target)
{
    bool is_found = false;
    for (size_t i = 0; i < GROUND_COUNT; i++) {
        is_found = is_found || strcmp(grounds[i].target, target) == 0;
    }
    for (size_t i = 0; i < SPECIAL_GROUND_COUNT; i++) {
        is_found = is_found || strcmp(special_grounds[i].target, target) == 0;
    }
    for (size_t i = 0; i < REGRET_GROUND_COUNT; i++) {
        is_found = is_found || strcmp(regret_grounds[i].target, target) == 0;
    }
    return is_found;
}

/* A race stands in a table of its own. */
static const struct target *find_planted(const char *name)
{
    for (size_t i = 0; races[i] != NULL; i++) {
        if (strcmp(races[i]->name, name) == 0) {
            return races[i];
        }
    }
    return target_find(name);
}

TEST(every_rule_names_a_plant_that_breaks_it)
{
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        const struct rule_info *rule = rule_info((enum rule)i);
        const struct target *plant = find_planted(rule->plant);
        ck_assert_msg(plant != NULL, "%s: no target is called %s", rule->name, rule->plant);
        ck_assert_msg(plant->breaks != NULL, "%s: %s is no plant", rule->name, rule->plant);
        ck_assert_str_eq(plant->breaks, rule->name);
        ck_assert_int_eq((int)rule_find(rule->name), (int)i);
    }
}

/* Those that end their process are run in tests/campaign/process/test_deaths.c, races in
 * tests/targets/test_races.c. */
TEST(every_plant_breaks_a_rule_and_has_a_ground)
{
    for (size_t i = 0; targets[i] != NULL; i++) {
        if (targets[i]->breaks == NULL) {
            continue;
        }
        ck_assert_msg(rule_find(targets[i]->breaks) != RULE_NONE, "%s: no rule is called %s",
                      targets[i]->name, targets[i]->breaks);
        /* Those that end their process are run in tests/campaign/process/test_deaths.c. */
        ck_assert_msg(is_deadly(targets[i]) || has_ground(targets[i]->name), "%s is run nowhere",
                      targets[i]->name);
    }
    /* Those that need lanes are run in tests/targets/test_races.c. */
    for (size_t i = 0; races[i] != NULL; i++) {
        ck_assert_msg(rule_find(races[i]->breaks) != RULE_NONE, "%s: no rule is called %s",
                      races[i]->name, races[i]->breaks);
    }
}
