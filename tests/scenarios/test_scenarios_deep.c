/* The deep scenarios: that they come to where tables, counts and rings are full, in every order,
 * and that what they do there acts. */
#include "harness/run/run.h"
#include "scenarios/private/parts.h"
#include "scenarios/scenarios.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most that a trial had at once, and what it did. */
struct peaks {
    size_t live, dying, busy, programs;
    uint32_t hold_count;        /* of one block */
    size_t held_dying;          /* freed blocks that are held */
    uint64_t requests_in_a_row; /* granted while the same freed block was held, by one client */
    uint64_t ops, skipped;
};

static void raise_to(size_t *most, size_t value)
{
    *most = value > *most ? value : *most;
}

static void note_held(struct peaks *peaks, const struct model *model, const struct op *op)
{
    const uint32_t slot = op->kind == OP_HOLD || op->kind == OP_RELEASE
                              ? model_slot_of_op(model, op->ref)
                              : SLOT_NONE;
    const uint32_t count = slot == SLOT_NONE ? 0 : model_block(model, slot)->hold_count;
    peaks->hold_count = count > peaks->hold_count ? count : peaks->hold_count;
    if (op->kind == OP_RELEASE) {
        size_t held = 0;
        for (size_t i = 0; i < model_dying_count(model); i++) {
            held += model_dying(model, i)->hold_count > 0;
        }
        raise_to(&peaks->held_dying, held);
    }
}

static void note_requests(struct peaks *peaks, uint64_t *in_a_row, const struct model *model,
                          const struct op *op)
{
    const bool is_held = model_dying_count(model) == 1 && model_dying(model, 0)->hold_count > 0;
    *in_a_row = is_held ? *in_a_row + (op->kind == OP_ALLOC) : 0;
    peaks->requests_in_a_row = *in_a_row > peaks->requests_in_a_row ? *in_a_row
                                                                    : peaks->requests_in_a_row;
}

/* One trial on libhbm, which keeps its promises in it. */
static struct peaks run_trial(const struct scenario *scenario, uint64_t seed, uint64_t op_count)
{
    alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES] = {0};
    struct peaks peaks = {0};
    struct setup setup;
    struct random random;
    struct scenario_view view;
    struct op op;
    uint64_t in_a_row = 0;
    wish_set_up(&(struct trial_wish){"hbm", scenario, .seed = seed}, &setup);
    random_init(&random, seed);
    scenario->begin(state, &random, &setup, true);
    struct run *run = begin_run(target_find("hbm"), &setup);
    run_view(run, &view);
    while (run_ops(run)->count < op_count && scenario->next(state, &random, &view, &op)) {
        run_step(run, &op);
        ck_assert_msg(!run_is_broken(run), "seed %" PRIu64, seed);
        run_view(run, &view);
        const struct model *model = view.hosts[0];
        raise_to(&peaks.live, model_live_count(model));
        raise_to(&peaks.dying, model_dying_count(model));
        raise_to(&peaks.busy, model_busy_count(model));
        raise_to(&peaks.programs, model_program_count(model));
        note_held(&peaks, model, &op);
        note_requests(&peaks, &in_a_row, model, &op);
    }
    peaks.ops = run_totals(run)->ops;
    peaks.skipped = run_totals(run)->skipped;
    run_destroy(run);
    printf("%s seed %" PRIu64 ": %" PRIu64 " ops, %" PRIu64
           " skipped; at most %zu live, %zu dying, %zu programs, %zu busy, %u holds, %zu held and "
           "freed, %" PRIu64 " requests next to one of them\n",
           scenario->name, seed, peaks.ops, peaks.skipped, peaks.live, peaks.dying, peaks.programs,
           peaks.busy, peaks.hold_count, peaks.held_dying, peaks.requests_in_a_row);
    ck_assert_msg(peaks.skipped * 50 < peaks.ops, "more than 2 %% skipped");
    return peaks;
}

/* --- orders --- */

static void walk_is_a_permutation(struct random *random, uint32_t count, enum op_walk_order order)
{
    enum { COUNT_MAX = 64, FIRST = 1000 };
    bool seen[COUNT_MAX + 1] = {false};
    struct op_walk walk;
    uint32_t number = 0;
    uint32_t visited = 0;
    op_walk_begin(&walk, random, FIRST, FIRST + count, order);
    while (op_walk_next(&walk, &number)) {
        ck_assert(number >= FIRST && number <= FIRST + count);
        ck_assert(!seen[number - FIRST]);
        seen[number - FIRST] = true;
        visited++;
    }
    ck_assert_uint_eq(visited, count == 0 ? 0 : count | 1);
}

EVERY_TEST(.timeout_s = 120);

TEST(a_walk_comes_by_every_number_once)
{
    struct random random;
    random_init(&random, 1);
    for (uint32_t count = 0; count <= 63; count++) {
        for (unsigned order = 0; order < OP_WALK_ORDER_COUNT; order++) {
            walk_is_a_permutation(&random, count, (enum op_walk_order)order);
        }
    }
}

TEST(a_walk_goes_forward_backward_and_by_every_second)
{
    static const uint32_t expected[][5] = {{7, 8, 9, 10, 11}, {11, 10, 9, 8, 7}, {7, 9, 11, 8, 10}};
    struct random random;
    random_init(&random, 1);
    for (unsigned order = OP_WALK_FORWARD; order <= OP_WALK_ALTERNATING; order++) {
        struct op_walk walk;
        op_walk_begin(&walk, &random, 7, 12, (enum op_walk_order)order);
        for (unsigned i = 0; i < 5; i++) {
            uint32_t number = 0;
            ck_assert(op_walk_next(&walk, &number));
            ck_assert_uint_eq(number, expected[order][i]);
        }
    }
}

/* --- depths --- */

TEST(more_frees_are_queued_than_a_ring_of_1024_holds)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        ck_assert_uint_gt(run_trial(&scenario_deep_queue, seed, 6000).dying, 1024);
    }
}

TEST(a_block_is_held_more_often_than_8_bits_count)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const struct peaks peaks = run_trial(&scenario_deep_holds, seed, 10000);
        ck_assert_uint_gt(peaks.hold_count, 256);
        ck_assert_uint_gt(peaks.held_dying, 127);
        ck_assert_uint_ge(peaks.requests_in_a_row, 256);
    }
}

TEST(a_thousand_programs_execute_at_once)
{
    const struct peaks peaks = run_trial(&scenario_deep_programs, 1, 6000);
    ck_assert_uint_gt(peaks.programs, 1024);
    ck_assert_uint_gt(peaks.busy, 1024);
}

TEST(there_are_more_blocks_than_16_bits_name)
{
    ck_assert_uint_gt(
        run_trial(&scenario_deep_blocks, 1, scenario_deep_blocks.op_count_default).live, 65536);
}

/* A target that is full after a few blocks is not asked a hundred thousand times. */
TEST(a_full_target_ends_the_filling)
{
    const struct scenario *const deep[] = {&scenario_deep_blocks, &scenario_deep_queue};
    for (unsigned i = 0; i < sizeof deep / sizeof deep[0]; i++) {
        alignas(max_align_t) unsigned char state[SCENARIO_STATE_BYTES] = {0};
        struct setup setup;
        struct random random;
        struct scenario_view view;
        struct op op;
        wish_set_up(&(struct trial_wish){"null", deep[i], .capacity_bytes = 16 << 20}, &setup);
        random_init(&random, 1);
        deep[i]->begin(state, &random, &setup, false);
        struct run *run = begin_run(target_find("null"), &setup);
        run_view(run, &view);
        while (run_ops(run)->count < 4000 && deep[i]->next(state, &random, &view, &op)) {
            run_step(run, &op);
            run_view(run, &view);
        }
        ck_assert_uint_lt(run_totals(run)->ooms * 2, run_totals(run)->ops);
        run_destroy(run);
    }
}
