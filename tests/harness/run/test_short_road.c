/* The short road of plain allocs and frees (rules/call.c) is the long one, to the last
 * observation: every list is run on both. */
#include "harness/run/run_state.h"
#include "harness/trial/trial_run.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/deadly.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/scenario_count.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { OPS_MAX = 400 };

static uint64_t plain_count; /* hosts whose calls may take the short road */

static bool make_trial(const struct target *target, const struct scenario *scenario, uint64_t seed,
                       struct trial *trial)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    setup_init(&setup);
    (void)snprintf(setup.target, sizeof setup.target, "%s", target->name);
    setup.seed = seed;
    const struct trial_plan plan = {.target = target,
                                    .scenario = scenario,
                                    .setup = &setup,
                                    .capacity_is_free = true,
                                    .op_count_max = OPS_MAX,
                                    .faults = {.kinds = seed % 2 == 0 ? FAULTING_ALL : 0}};
    return trial_run(&plan, NULL, trial, reason);
}

static struct run *open_run(const struct target *target, const struct setup *setup, bool is_long)
{
    char reason[RUN_REASON_BYTES] = "";
    struct run *run = run_create(target, setup, reason);
    ck_assert_msg(run != NULL, "%s: %s", target->name, reason);
    run_go_on(run);
    for (uint32_t i = 0; i < setup->host_count; i++) {
        plain_count += run->hosts[i].is_plain;
        run->hosts[i].is_plain = run->hosts[i].is_plain && !is_long;
    }
    return run;
}

static void check_same(const struct target *target, const struct run *one, const struct run *other)
{
    const struct run_findings *found = run_findings(one);
    const struct run_findings *also = run_findings(other);
    ck_assert_msg(run_digest(one) == run_digest(other), "%s, op %zu", target->name,
                  run_ops(one)->count);
    ck_assert_mem_eq(run_totals(one), run_totals(other), sizeof *run_totals(one));
    ck_assert_uint_eq(found->count, also->count);
    for (size_t i = 0; i < found->count; i++) {
        ck_assert_int_eq(found->findings[i].verdict.rule, also->findings[i].verdict.rule);
        ck_assert_uint_eq(found->findings[i].verdict.op, also->findings[i].verdict.op);
        ck_assert_str_eq(found->findings[i].verdict.reason, also->findings[i].verdict.reason);
    }
}

static void run_both(const struct target *target, const struct trial *trial)
{
    struct run *one = open_run(target, &trial->setup, false);
    struct run *other = open_run(target, &trial->setup, true);
    for (size_t i = 0; i < trial->ops.count && !run_is_broken(one); i++) {
        (void)run_step(one, &trial->ops.ops[i]);
        (void)run_step(other, &trial->ops.ops[i]);
        ck_assert_msg(run_digest(one) == run_digest(other), "%s, op %zu", target->name, i);
    }
    (void)run_finish(one);
    (void)run_finish(other);
    check_same(target, one, other);
    run_destroy(one);
    run_destroy(other);
}

EVERY_TEST(.timeout_s = 120);

/* Every target, sound or planted: what breaks a promise breaks it on both roads, told alike. */
TEST(both_roads_see_the_same, .count = count_scenarios)
{
    const struct scenario *scenario = scenarios[_i];
    plain_count = 0;
    for (int i = 0; targets[i] != NULL; i++) {
        struct trial trial;
        /* Replay is what its defect is about. */
        const bool is_left_out = is_deadly(targets[i]) || scenario->shares_device ||
                                 (targets[i]->breaks != NULL &&
                                  strcmp(targets[i]->breaks, "replay") == 0);
        if (is_left_out || (uint64_t)(i + _i) % draws_period() != 0) {
            continue;
        }
        if (make_trial(targets[i], scenario, (uint64_t)i, &trial)) {
            run_both(targets[i], &trial);
            trial_deinit(&trial);
        }
    }
    ck_assert(scenario->shares_device || plain_count > 0);
}
