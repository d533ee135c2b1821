/* Sizes that are named by what fits, and lists that grow in the middle. */
#include "harness/base/random.h"
#include "harness/model/model.h"
#include "harness/op/fit.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

enum { G = 512 };

static struct run *run;

/* A device of 32 granules that never moves a block, filled from the top: 4 granules, 6, a hole of
 * 2, 8, a hole of 12. */
static void open_run(void)
{
    struct setup setup;
    struct op_list ops;
    read_list("capacity 16K\ntarget first_fit\noption defrag=none\n\n0: alloc size=2K\n"
              "1: alloc size=3K\n2: alloc size=1K\n3: alloc size=4K\n4: free block=2\n",
              &setup, &ops);
    run = begin_run(&target_first_fit, &setup);
    step_all(run, &ops);
    ck_assert_uint_eq(run_totals(run)->broken + run_totals(run)->ooms, 0);
    op_list_deinit(&ops);
}

static uint64_t fit_granules(uint8_t kind, uint32_t index, int32_t more)
{
    const struct fit fit = {kind, index, more};
    const uint64_t bytes = fit_bytes(&fit, run_model(run, 0));
    ck_assert_uint_eq(bytes % G, 0);
    return bytes / G;
}

TEST(a_fit_is_what_its_name_says)
{
    open_run();
    ck_assert_uint_eq(fit_granules(FIT_HOLE, 0, 0), 12);
    ck_assert_uint_eq(fit_granules(FIT_HOLE, 0, 1), 13);
    ck_assert_uint_eq(fit_granules(FIT_HOLE, 0, -3), 9);
    ck_assert_uint_eq(fit_granules(FIT_HOLE, 0, -12), 12); /* nothing would be left */
    ck_assert_uint_eq(fit_granules(FIT_FREE, 0, 0), 14);
    ck_assert_uint_eq(fit_granules(FIT_HALF, 0, 0), 7);
    ck_assert_uint_eq(fit_granules(FIT_BLOCK, 1, 0), 6);
    ck_assert_uint_eq(fit_granules(FIT_BLOCK, 4, 0), 6); /* modulo three blocks */
    ck_assert_uint_eq(fit_granules(FIT_PAIR, 1, 0), 10);
    ck_assert_uint_eq(fit_granules(FIT_PAIR, 0, 0), 4); /* the device ends above it */
    run_destroy(run);
}

TEST(an_op_gets_its_size_when_it_runs_and_is_recorded_with_it)
{
    open_run();
    struct op op = op_make(OP_ALLOC);
    op.flags = OP_FITTED;
    op.size_bytes = fit_pack(&(struct fit){FIT_HOLE, 0, 0});
    ck_assert_int_eq(run_step(run, &op)->kind, VERDICT_NONE);
    const struct op_list *ops = run_ops(run);
    ck_assert_uint_eq(ops->ops[ops->count - 1].size_bytes, 12 * G);
    ck_assert_uint_eq(ops->ops[ops->count - 1].flags, 0);
    ck_assert_uint_eq(run_observation(run)->result, TARGET_OK);
    op.size_bytes = fit_pack(&(struct fit){FIT_HOLE, 0, 1});
    ck_assert_int_eq(run_step(run, &op)->kind, VERDICT_JUSTIFIED);
    run_destroy(run);
}

TEST(a_fit_is_one_number_and_one_word, .to = 100)
{
    struct random random;
    random_init(&random, (uint64_t)_i);
    const struct fit fit = fit_unpack(random_bits(&random));
    const struct fit again = fit_unpack(fit_pack(&fit));
    ck_assert(again.kind == fit.kind && again.index == fit.index && again.granules == fit.granules);
    char text[FIT_TEXT_BYTES];
    struct fit read;
    if (fit.granules == INT32_MIN) {
        return; /* is never drawn, and has no word */
    }
    fit_print(&fit, text);
    ck_assert_msg(fit_parse(text, strlen(text), &read), "%s", text);
    ck_assert_msg(read.kind == fit.kind && read.index == fit.index && read.granules == fit.granules,
                  "%s", text);
}

TEST(what_is_no_fit_is_refused)
{
    /* A line each. */
    const char *text = "\n%\nhole\n%hol\n%hole+\n%hole+-1\n%hole:1\n%block:\n%block:99999999\n"
                       "%free+2147483648\n%free 1\n%half1\n%pair:1+1x\n";
    for (size_t length = 0; *text != '\0'; text += length + 1) {
        struct fit fit;
        length = strcspn(text, "\n");
        ck_assert_msg(!fit_parse(text, length, &fit), "%.*s", (int)length, text);
    }
}

/* --- lists --- */

TEST(references_follow_what_they_name_when_ops_come_in, .teardown = snap_rest)
{
    static const bool keep[9] = {true, false, false, true, true, true, true, true, true};
    struct setup setup;
    struct op_list list, more;
    read_list("0: alloc size=1K\n1: alloc size=2K\n2: free block=0\n3: free block=1\n"
              "4: free block=%1\n5: use block=1 delay=1ns\n6: complete event=5\n",
              &setup, &list);
    read_list("0: alloc size=3K\n1: free block=0\n", &setup, &more);
    more.ops[1].ref = 1; /* its own neighbour, once it is inserted */
    op_list_insert(&list, 1, more.ops, 2);
    show_ops(&list);
    show("without 1 and 2\n");
    op_list_filter(&list, keep);
    show_ops(&list);
    op_list_deinit(&list);
    op_list_deinit(&more);
}
