/* Regrets: each kind is seen where it is due and nowhere else, and a run counts them and holds them
 * against its limit. */
#include "harness/oracle/regret.h"
#include "harness/run/run.h"
#include "harness/trial/trial_run.h"
#include "targets/targets.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_COUNT_MAX = 8 };

/* A device of some granules of one byte, under repack with all mitigations, and a request of a
 * buffer. */
struct scene {
    struct oom_block blocks[BLOCK_COUNT_MAX];
    struct oom oom;
};

static void scene_begin(struct scene *scene, uint64_t capacity_bytes, uint64_t request_bytes)
{
    *scene = (struct scene){0};
    scene->oom = (struct oom){
        .capacity_bytes = capacity_bytes,
        .granule_bytes = 1,
        .defrag = DEFRAG_REPACK,
        .drains = true,
        .evicts = true,
        .request = {.class = REQUEST_BUFFER,
                    .size_bytes = request_bytes,
                    .align_bytes = 1,
                    .own_op = OP_NONE},
        .blocks = scene->blocks,
    };
}

static struct oom_block *scene_add(struct scene *scene, enum block_kind kind, uint64_t address,
                                   uint64_t size_bytes)
{
    ck_assert_uint_lt(scene->oom.block_count, BLOCK_COUNT_MAX);
    struct oom_block *block = &scene->blocks[scene->oom.block_count];
    *block = (struct oom_block){.address = address,
                                .size_bytes = size_bytes,
                                .align_bytes = 1,
                                .op = (uint32_t)scene->oom.block_count,
                                .kind = (uint8_t)kind,
                                .state = BLOCK_LIVE};
    scene->oom.block_count++;
    return block;
}

/* It does not move. */
static void scene_add_held(struct scene *scene, uint64_t address, uint64_t size_bytes)
{
    scene_add(scene, BLOCK_BUFFER, address, size_bytes)->hold_count = 1;
}

static void scene_add_freed(struct scene *scene, uint64_t address, uint64_t size_bytes)
{
    struct oom_block *block = scene_add(scene, BLOCK_BUFFER, address, size_bytes);
    block->state = BLOCK_DYING;
    block->freed_at_ns = 10;
}

static struct regret judge_regret(const struct scene *scene, const struct regret_spent *spent)
{
    struct planner *planner = planner_create();
    const struct regret regret = regret_judge(planner, &scene->oom, spent);
    planner_destroy(planner);
    return regret;
}

static void check_regret(const struct scene *scene, const struct regret_spent *spent,
                         uint32_t kinds, uint64_t evicted_bytes, uint64_t moved_bytes)
{
    const struct regret regret = judge_regret(scene, spent);
    ck_assert(!regret.is_unknown);
    ck_assert_uint_eq(regret.kinds, kinds);
    ck_assert_uint_eq(regret.evicted_bytes, evicted_bytes);
    ck_assert_uint_eq(regret.moved_bytes, moved_bytes);
}

static uint32_t mask_kind(enum regret_kind kind)
{
    return 1u << kind;
}

static const struct regret_spent evicted_one = {
    .evicted_count = 1, .evicted_bytes = 4, .is_met = true};

/* --- evicted needlessly --- */

TEST(evicting_where_a_wait_would_do_is_regretted)
{
    struct scene scene;
    scene_begin(&scene, 8, 4);
    scene_add(&scene, BLOCK_PROGRAM, 0, 4);
    scene_add_freed(&scene, 4, 4);
    check_regret(&scene, &evicted_one, mask_kind(REGRET_EVICTED_NEEDLESSLY), 4, 0);
    scene.blocks[1].freed_at_ns = DELAY_NEVER;
    check_regret(&scene, &evicted_one, 0, 0, 0);
}

TEST(evicting_where_a_move_would_do_is_regretted)
{
    struct scene scene;
    scene_begin(&scene, 12, 4);
    scene_add(&scene, BLOCK_PROGRAM, 0, 4);
    scene_add(&scene, BLOCK_BUFFER, 6, 4);
    check_regret(&scene, &evicted_one, mask_kind(REGRET_EVICTED_NEEDLESSLY), 4, 0);
    scene.blocks[1].hold_count = 1;
    check_regret(&scene, &evicted_one, 0, 0, 0);
}

TEST(evicting_where_nothing_else_helps_is_not_regretted)
{
    struct scene scene;
    scene_begin(&scene, 8, 4);
    scene_add(&scene, BLOCK_PROGRAM, 0, 4);
    scene_add(&scene, BLOCK_BUFFER, 4, 4);
    check_regret(&scene, &evicted_one, 0, 0, 0);
}

/* --- evicted too much --- */

TEST(evicting_more_programs_than_needed_is_regretted_and_another_of_the_same_size_is_not)
{
    struct scene scene;
    scene_begin(&scene, 8, 4);
    scene_add(&scene, BLOCK_PROGRAM, 0, 4);
    scene_add(&scene, BLOCK_PROGRAM, 4, 4);
    const struct regret_spent both = {.evicted_count = 2, .evicted_bytes = 8, .is_met = true};
    check_regret(&scene, &both, mask_kind(REGRET_EVICTED_TOO_MUCH), 4, 0);
    check_regret(&scene, &evicted_one, 0, 0, 0);
}

TEST(evicting_a_larger_program_than_needed_is_regretted)
{
    struct scene scene;
    scene_begin(&scene, 10, 4);
    scene_add(&scene, BLOCK_PROGRAM, 0, 6);
    scene_add(&scene, BLOCK_PROGRAM, 6, 4);
    const struct regret_spent larger = {.evicted_count = 1, .evicted_bytes = 6, .is_met = true};
    check_regret(&scene, &larger, mask_kind(REGRET_EVICTED_TOO_MUCH), 2, 0);
    check_regret(&scene, &evicted_one, 0, 0, 0);
}

TEST(two_small_programs_for_one_large_one_are_regretted_though_they_are_fewer_bytes)
{
    struct scene scene;
    scene_begin(&scene, 8, 4);
    scene_add(&scene, BLOCK_PROGRAM, 0, 4);
    scene_add(&scene, BLOCK_PROGRAM, 4, 2);
    scene_add(&scene, BLOCK_PROGRAM, 6, 2);
    const struct regret_spent two = {.evicted_count = 2, .evicted_bytes = 4, .is_met = true};
    check_regret(&scene, &two, mask_kind(REGRET_EVICTED_TOO_MUCH), 0, 0);
}

/* --- moved needlessly --- */

TEST(moving_though_a_hole_fits_is_regretted)
{
    struct scene scene;
    const struct regret_spent moved = {.moved_bytes = 3, .is_met = true};
    scene_begin(&scene, 12, 4);
    scene_add(&scene, BLOCK_BUFFER, 2, 3);
    check_regret(&scene, &moved, mask_kind(REGRET_MOVED_NEEDLESSLY), 0, 3);
    scene.oom.request.size_bytes = 8;
    check_regret(&scene, &moved, 0, 0, 0);
}

/* --- moved too much --- */

TEST(moving_more_bytes_than_the_cheapest_plan_is_regretted)
{
    struct scene scene;
    scene_begin(&scene, 12, 5);
    scene_add(&scene, BLOCK_BUFFER, 3, 2);
    scene_add(&scene, BLOCK_BUFFER, 8, 3);
    /* Holes of 3, 3 and 1: the block of two bytes is enough. */
    const struct regret_spent least = {.moved_bytes = 2, .is_met = true};
    const struct regret_spent larger = {.moved_bytes = 3, .is_met = true};
    const struct regret_spent all = {.moved_bytes = 5, .is_met = true};
    check_regret(&scene, &least, 0, 0, 0);
    check_regret(&scene, &larger, mask_kind(REGRET_MOVED_TOO_MUCH), 0, 1);
    check_regret(&scene, &all, mask_kind(REGRET_MOVED_TOO_MUCH), 0, 3);
}

TEST(moving_where_a_wait_would_do_is_moving_too_much)
{
    struct scene scene;
    const struct regret_spent moved = {.moved_bytes = 2, .is_met = true};
    scene_begin(&scene, 10, 4);
    scene_add(&scene, BLOCK_BUFFER, 2, 2);
    scene_add_freed(&scene, 6, 4);
    check_regret(&scene, &moved, mask_kind(REGRET_MOVED_TOO_MUCH), 0, 2);
}

TEST(who_evicts_less_than_the_plan_may_move_more)
{
    struct scene scene;
    const struct regret_spent moved = {.moved_bytes = 3, .is_met = true};
    scene_begin(&scene, 8, 8);
    scene_add(&scene, BLOCK_PROGRAM, 0, 4);
    ck_assert_uint_eq(judge_regret(&scene, &moved).kinds, 0);
}

TEST(one_request_may_have_two_regrets)
{
    struct scene scene;
    const struct regret_spent spent = {
        .evicted_count = 1, .evicted_bytes = 4, .moved_bytes = 3, .is_met = true};
    scene_begin(&scene, 16, 4);
    scene_add(&scene, BLOCK_PROGRAM, 0, 4);
    scene_add(&scene, BLOCK_BUFFER, 4, 3);
    check_regret(&scene, &spent,
                 mask_kind(REGRET_EVICTED_NEEDLESSLY) | mask_kind(REGRET_MOVED_NEEDLESSLY), 4, 3);
}

/* --- in vain, nothing, unknown --- */

TEST(what_was_done_for_a_refused_request_is_in_vain)
{
    struct scene scene;
    const struct regret_spent spent = {.evicted_count = 1, .evicted_bytes = 4, .moved_bytes = 3};
    const struct regret_spent nothing = {.is_met = false};
    scene_begin(&scene, 8, 8);
    scene_add(&scene, BLOCK_PROGRAM, 0, 4);
    scene_add_held(&scene, 4, 1);
    check_regret(&scene, &spent, mask_kind(REGRET_IN_VAIN), 4, 3);
    check_regret(&scene, &nothing, 0, 0, 0);
}

TEST(who_spends_nothing_regrets_nothing)
{
    struct scene scene;
    const struct regret_spent nothing = {.is_met = true};
    scene_begin(&scene, 8, 4);
    check_regret(&scene, &nothing, 0, 0, 0);
}

/* Whose cheapest plan is beyond the budget of a regret. */
TEST(nothing_is_said_when_no_plan_is_found_within_the_budget)
{
    struct random random;
    struct oom oom = {0};
    struct planner *planner = planner_create();
    uint64_t unknown_count = 0;
    random_init(&random, 1);
    for (int i = 0; i < 5000; i++) {
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

/* --- in a run --- */

/* Two programs fill the device.  Twice a buffer needs the room of one, and the program that had to
 * go comes back. */
static void append_eviction_rounds(struct op_list *ops)
{
    struct op load = op_make(OP_LOAD);
    struct op alloc = op_make(OP_ALLOC);
    struct op free_op = op_make(OP_FREE);
    load.size_bytes = alloc.size_bytes = 4096;
    op_list_append(ops, &load);
    op_list_append(ops, &load);
    for (uint32_t round = 0; round < 2; round++) {
        op_list_append(ops, &alloc);
        free_op.ref = (uint32_t)ops->count - 1;
        op_list_append(ops, &free_op);
        for (uint32_t program = 0; program < 2; program++) {
            struct op execute = op_make(OP_EXECUTE);
            struct op advance = op_make(OP_ADVANCE);
            execute.ref = program;
            execute.delay_ns = advance.delay_ns = 1000;
            op_list_append(ops, &execute);
            op_list_append(ops, &advance);
        }
    }
}

static struct trial replay_ops(const char *target, const struct op_list *ops, bool has_regret_max,
                               uint64_t regret_max)
{
    struct setup setup;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    setup.capacity_bytes = 8192;
    setup.has_regret_max = has_regret_max;
    setup.regret_max = regret_max;
    ck_assert_msg(trial_replay(target_find(target), &setup, ops, NULL, &trial, reason), "%s",
                  reason);
    return trial;
}

TEST(a_run_counts_regrets_and_breaks_at_the_first_beyond_the_limit)
{
    struct op_list ops;
    op_list_init(&ops);
    append_eviction_rounds(&ops);
    struct trial honest = replay_ops("hbm", &ops, true, 0);
    ck_assert_int_eq(honest.first.kind, VERDICT_NONE);
    ck_assert_uint_eq(honest.totals.evictions, 2);
    ck_assert_uint_eq(honest.totals.regretted, 0);
    struct trial free_of_limits = replay_ops("plant_regret_evicts_all", &ops, false, 0);
    ck_assert_int_eq(free_of_limits.first.kind, VERDICT_NONE);
    ck_assert_uint_eq(free_of_limits.totals.evictions, 4);
    ck_assert_uint_eq(free_of_limits.totals.regretted, 2);
    ck_assert_uint_eq(free_of_limits.totals.regrets[REGRET_EVICTED_TOO_MUCH], 2);
    ck_assert_uint_eq(free_of_limits.totals.regretted_evicted_bytes, 8192);
    struct trial limited = replay_ops("plant_regret_evicts_all", &ops, true, 1);
    ck_assert_int_eq(limited.first.kind, VERDICT_BROKEN);
    ck_assert_int_eq(limited.first.rule, RULE_REGRET);
    ck_assert_uint_eq(limited.first.op, 8); /* the second of the requests, and no other op */
    ck_assert_ptr_nonnull(strstr(limited.first.reason, "4096 bytes of programs"));
    struct trial at_the_limit = replay_ops("plant_regret_evicts_all", &ops, true, 2);
    ck_assert_int_eq(at_the_limit.first.kind, VERDICT_NONE);
    trial_deinit(&honest);
    trial_deinit(&free_of_limits);
    trial_deinit(&limited);
    trial_deinit(&at_the_limit);
    op_list_deinit(&ops);
}
