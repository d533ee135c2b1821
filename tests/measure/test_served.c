/* What is counted of a list on a target, and by which contract. */
#include "measure/cost.h"
#include "measure/judged.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/suite.h"

#include <stdlib.h>
#include <string.h>

/* Every second granule of four is freed: 2 KiB are free, and no hole has more than 1 KiB. */
static const char holes[] = "capacity 4K\ngranule 512\ntarget first_fit\n0: alloc size=1K\n"
                            "1: alloc size=1K\n2: alloc size=1K\n3: alloc size=1K\n"
                            "4: free block=0\n5: free block=2\n6: alloc size=2K\n"
                            "7: alloc size=3K\n8: alloc size=1K\n";

static struct list {
    struct setup setup;
    struct op_list ops;
    uint8_t answers[64];
    struct judged judged;
} list;

static void end_list(void)
{
    op_list_deinit(&list.ops);
}

EVERY_TEST(.teardown = end_list);

static void judge(const struct target *target)
{
    memset(list.answers, 0, sizeof list.answers);
    judged_run(target, &list.setup, &list.ops, &list.judged, list.answers);
}

TEST(requests_and_refusals_are_counted)
{
    read_list(holes, &list.setup, &list.ops);
    judge(&target_first_fit);
    ck_assert_int_eq(list.judged.end, JUDGED_WHOLE);
    ck_assert_uint_eq(list.judged.requests, 7);
    ck_assert_uint_eq(list.judged.ooms, 2);
    ck_assert_uint_eq(list.judged.justified, 2);
    ck_assert_uint_eq(list.judged.free_refused_count, 1); /* of 3K not so much was free */
    ck_assert_uint_eq(list.judged.free_refused_bytes, 2048);
    ck_assert_int_eq(list.answers[6], ANSWER_REFUSED);
    ck_assert_int_eq(list.answers[8], ANSWER_GRANTED);
    ck_assert_int_eq(list.answers[4], ANSWER_NONE);
    ck_assert_uint_eq(judged_first_refused(&target_first_fit, &list.setup, &list.ops), 6);
    list.setup.capacity_bytes = 16384;
    ck_assert_uint_eq(judged_first_refused(&target_first_fit, &list.setup, &list.ops), 9);
}

TEST(the_largest_request_is_that_of_the_largest_hole)
{
    uint64_t bytes = 1;
    read_list(holes, &list.setup, &list.ops);
    ck_assert(room_measure(&target_first_fit, &list.setup, &list.ops, 5, &bytes));
    ck_assert_uint_eq(bytes, 1024);
    ck_assert(room_measure(&target_first_fit, &list.setup, &list.ops, 3, &bytes));
    ck_assert_uint_eq(bytes, 0);
    ck_assert(room_measure(&target_paged,
                           &(struct setup){.capacity_bytes = 1 << 20, .host_count = 1}, &list.ops,
                           5, &bytes));
    ck_assert_uint_gt(bytes, 0); /* no address is needed for it */
}

TEST(without_classes_a_refusal_for_its_class_is_premature)
{
    struct target held;
    read_list("capacity 4K\ngranule 512\ntarget buddy\n"
              "0: alloc size=512\n1: alloc size=1025\n2: alloc size=1025\n",
              &list.setup, &list.ops);
    judge(&target_buddy);
    ck_assert_uint_eq(list.judged.ooms, 1);
    ck_assert_uint_eq(list.judged.justified, 1);
    held_make(&(struct judged_held){.kind = HELD_NONE}, &target_buddy, &held, &list.setup);
    judge(&held);
    ck_assert_uint_eq(list.judged.premature, 1);
}

TEST(one_target_can_be_judged_by_the_contract_of_another)
{
    struct target held;
    struct judged_held by = {.kind = HELD_CONTRACT};
    read_list(holes, &list.setup, &list.ops);
    struct run *run = begin_run(&target_hbm, &list.setup);
    by.contract = *model_contract(run_model(run, 0));
    run_destroy(run);
    by.contract.programs = false;
    by.contract.evicts = false;
    by.contract.program_evicts_program = false;
    held_make(&by, &target_first_fit, &held, &list.setup);
    judge(&held);
    ck_assert_uint_eq(list.judged.premature, 1); /* it does not move, as libhbm promises */
}

TEST(the_calls_of_a_list_are_counted_and_timed)
{
    struct cost cost;
    read_list(holes, &list.setup, &list.ops);
    cost_measure(&target_first_fit, &list.setup, &list.ops, &cost);
    ck_assert_uint_eq(cost.op_count, 9);
    ck_assert_uint_gt(cost.ns, 0);
    list.setup.capacity_bytes = 64 << 20;
    list.setup.granule_bytes = 0;
    cost_measure(&target_segments, &list.setup, &list.ops, &cost);
    ck_assert_uint_eq(cost.op_count, 0); /* it takes regions, which the services do not have */
}
