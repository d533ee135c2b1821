/* Regrets that no run shows: what they are is in tests/cases/oracle/regret.case. */
#include "harness/oracle/regret.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* A request for the whole device, which met it without the eviction that the cheapest plan has. */
TEST(who_evicts_less_than_the_plan_may_move_more)
{
    const struct regret_spent moved = {.moved_bytes = 3, .is_met = true};
    struct oom_block program = {
        .size_bytes = 4, .align_bytes = 1, .kind = BLOCK_PROGRAM, .state = BLOCK_LIVE};
    const struct oom oom = {
        .capacity_bytes = 8,
        .granule_bytes = 1,
        .defrag = DEFRAG_REPACK,
        .evicts = true,
        .request = {.class = REQUEST_BUFFER, .size_bytes = 8, .align_bytes = 1, .own_op = OP_NONE},
        .blocks = &program,
        .block_count = 1,
    };
    struct planner *planner = planner_create();
    ck_assert_uint_eq(regret_judge(planner, &oom, &moved).kinds, 0);
    planner_destroy(planner);
}

/* Whose cheapest plan is beyond the budget of a regret. */
TEST(nothing_is_said_when_no_plan_is_found_within_the_budget, .timeout_s = 60)
{
    struct random random;
    struct oom oom = {0};
    struct planner *planner = planner_create();
    uint64_t unknown_count = 0;
    random_init(&random, 1);
    for (uint64_t i = 0; i < draws_count(5000, 1000); i++) {
        const struct regret_spent moved = {.moved_bytes = 512, .is_met = true};
        struct proof_plan plan;
        random_oom_draw_tight(&random, i % 2 == 0, &oom);
        const bool is_found = planner_find(planner, &oom, REGRET_NODES_MAX, &plan) == PLAN_FOUND;
        const struct regret regret = regret_judge(planner, &oom, &moved);
        ck_assert_int_eq(regret.is_unknown, !is_found);
        ck_assert(!regret.is_unknown || regret.kinds == 0);
        unknown_count += regret.is_unknown;
    }
    ck_assert_uint_gt(unknown_count, 0);
    planner_destroy(planner);
    oom_deinit(&oom);
}
