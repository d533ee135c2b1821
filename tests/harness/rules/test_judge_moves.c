/* On a device that is full of many blocks a move is judged by the blocks that it met; whatever a
 * target says of another one is still heard of. */
#include "harness/base/random.h"
#include "harness/run/run_state.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>

/* More blocks than are all looked at each time. */
enum { BLOCK_COUNT = 700, STEP_COUNT = 300, GRANULE = 512 };

/* libhbm, but for what it says of the block with the handle `lied_of`: that it lies a granule
 * higher.
 */
static struct target watched;
static uint64_t locate_count, last_handle, lied_of;

static enum target_result watched_locate(struct target_instance *instance, uint64_t handle,
                                         struct target_block *block)
{
    const enum target_result result = target_find("hbm")->locate(instance, handle, block);
    locate_count++;
    last_handle = handle;
    block->address += handle == lied_of ? GRANULE : 0;
    return result;
}

static struct run *open_run(enum defrag_contract defrag, uint64_t capacity_bytes)
{
    char reason[RUN_REASON_BYTES] = "";
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = capacity_bytes;
    ck_assert(setup_set_option(&setup, "defrag", defrag == DEFRAG_SLIDE ? "slide" : "repack"));
    (void)snprintf(setup.target, sizeof setup.target, "hbm");
    watched = *target_find("hbm");
    watched.locate = watched_locate;
    locate_count = last_handle = lied_of = 0;
    struct run *run = run_create(&watched, &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    return run;
}

/* A workload that keeps the device full. */
struct work {
    struct random random;
    uint32_t makers[BLOCK_COUNT]; /* the op that made the block */
    uint32_t next;
};

static bool step_alloc(struct work *work, struct run *run, uint32_t i, uint64_t granules)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = granules * GRANULE;
    work->makers[i] = work->next++;
    return run_step(run, &op)->kind != VERDICT_BROKEN;
}

/* Replaces a block by another of a new size, or of the same if that was refused. */
static bool step_both(struct work *work, struct run *run)
{
    const uint32_t i = (uint32_t)random_below(&work->random, BLOCK_COUNT);
    struct op op = op_make(OP_FREE);
    op.ref = work->makers[i];
    work->next++;
    return run_step(run, &op)->kind != VERDICT_BROKEN &&
           step_alloc(work, run, i, 1 + random_below(&work->random, 16));
}

static void fill(struct work *work, struct run *run)
{
    *work = (struct work){.next = 0};
    random_init(&work->random, 5);
    for (uint32_t i = 0; i < BLOCK_COUNT; i++) {
        ck_assert(step_alloc(work, run, i, 1 + i % 16));
    }
}

/* 17 granules for each pair, and one in a hundred more. */
#define CAPACITY_BYTES (UINT64_C(700) * 17 / 2 * GRANULE * 101 / 100 / GRANULE * GRANULE)

EVERY_TEST(.timeout_s = 60);

TEST(few_blocks_are_asked_for_after_a_move, .to = 2)
{
    static const enum defrag_contract contracts[] = {DEFRAG_SLIDE, DEFRAG_REPACK};
    struct work work;
    struct run *run = open_run(contracts[_i], CAPACITY_BYTES);
    fill(&work, run);
    for (int i = 0; i < STEP_COUNT; i++) {
        ck_assert_msg(step_both(&work, run), "%s", run->verdict.reason);
    }
    const struct run_totals *totals = run_totals(run);
    ck_assert_uint_gt(totals->moves, STEP_COUNT / 10);
    ck_assert_uint_gt(run->judge.looked_counts[0], 0);
    /* All of them, each time: hundreds for each move. */
    ck_assert_uint_lt(locate_count, totals->moves * 40 + (totals->ooms + 4) * BLOCK_COUNT);
    ck_assert_int_eq(run_finish(run)->kind, VERDICT_NONE);
    run_destroy(run);
}

/* The block is asked for when as many were looked at as there are, or when the run is over. */
TEST(what_is_said_of_a_block_that_no_move_met_is_heard)
{
    struct work work;
    struct run *run = open_run(DEFRAG_REPACK, CAPACITY_BYTES);
    fill(&work, run);
    for (int i = 0; i < STEP_COUNT && run->judge.looked_counts[0] == 0; i++) {
        ck_assert(step_both(&work, run));
    }
    ck_assert_uint_gt(run->judge.looked_counts[0], 0);
    lied_of = model_live(run->hosts[0].model, 0)->handle;
    ck_assert_uint_ne(lied_of, 0);
    const struct verdict *verdict = run_finish(run);
    ck_assert_int_eq(verdict->kind, VERDICT_BROKEN);
    ck_assert_int_eq(verdict->rule, RULE_MOVED_UNASKED);
    run_destroy(run);
}
