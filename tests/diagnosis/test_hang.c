/* Who waits for whom, and why that one does not come. */
#include "diagnosis/waits.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* --- a list as text, run to its end --- */

static struct setup setup;
static struct hangs hangs;
static struct run_totals totals;

static void take_hangs(const char *head, const char *ops)
{
    struct ops_file_error error;
    struct op_list list;
    char text[4096], reason[RUN_REASON_BYTES] = "";
    const int length = snprintf(text, sizeof text,
                                "hbmstress-ops 1\ncapacity 1M\ngranule 1\nclocks own\ntag 1 "
                                "\"train_step\"\n%s%s",
                                head, ops);
    op_list_init(&list);
    ck_assert_msg(ops_file_parse(text, (size_t)length, &setup, &list, &error) == OPS_FILE_OK, "%s",
                  error.reason);
    struct run *run = run_create(target_find("hbm"), &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    for (size_t i = 0; i < list.count; i++) {
        ck_assert_int_ne(run_step(run, &list.ops[i])->kind, VERDICT_BROKEN);
    }
    ck_assert_int_eq(run_finish(run)->kind, VERDICT_NONE);
    run_hangs(run, &hangs);
    totals = *run_totals(run);
    run_destroy(run);
    op_list_deinit(&list);
}

#define TWO_PROGRAMS "0: load size=1K stack=1K tag=1\n1: load size=1K stack=1K tag=1 host=1\n"

/* --- causes --- */

TEST(nobody_waits_in_vain_where_all_join)
{
    take_hangs("hosts 2\n", TWO_PROGRAMS "2: execute program=0 delay=1us collective=0\n"
                                         "3: execute program=1 delay=1us collective=0 host=1\n");
    ck_assert_uint_eq(hangs.count, 0);
    ck_assert(!hangs_are_there(&hangs));
    ck_assert_uint_eq(totals.hangs, 0);
}

TEST(one_host_alone_has_no_hangs)
{
    take_hangs("", "0: load size=1K stack=1K tag=1\n1: execute program=0 delay=1us collective=0\n");
    ck_assert_uint_eq(hangs.count, 0);
}

TEST(an_out_of_memory_before_the_collective_is_the_cause)
{
    take_hangs("hosts 2\n", TWO_PROGRAMS "2: alloc size=2M host=1\n"
                                         "3: execute program=0 delay=1us collective=0\n");
    ck_assert_uint_eq(hangs.count, 1);
    ck_assert_int_eq(hangs.hangs[0].cause, HANG_OOM);
    ck_assert_uint_eq(hangs.hangs[0].cause_op, 2);
    ck_assert(hangs.hangs[0].is_silent);
    ck_assert_uint_eq(totals.hangs_of_oom, 1);
    ck_assert_uint_eq(totals.ooms, 1);
    ck_assert_uint_eq(totals.broken + totals.premature, 0);
}

TEST(a_host_that_allocates_after_its_out_of_memory_is_not_silent)
{
    take_hangs("hosts 2\n", TWO_PROGRAMS "2: alloc size=2M host=1\n3: alloc size=1K host=1\n"
                                         "4: execute program=0 delay=1us collective=0\n");
    ck_assert_int_eq(hangs.hangs[0].cause, HANG_OOM);
    ck_assert(!hangs.hangs[0].is_silent);
}

/* It was answered in time, executed after that, and stops for another reason. */
TEST(an_out_of_memory_before_its_last_execution_is_no_cause)
{
    take_hangs("hosts 2\n",
               TWO_PROGRAMS "2: alloc size=2M host=1\n"
                            "3: execute program=0 delay=1us collective=0\n"
                            "4: execute program=1 delay=1us collective=0 host=1\n"
                            "5: execute program=0 delay=1us collective=0\n"
                            "6: advance delay=1s\n7: advance delay=1s\n8: advance delay=1s\n"
                            "9: advance delay=1s\n10: advance delay=1s\n");
    ck_assert_uint_eq(hangs.count, 0); /* the bound is over, and nobody asked */
    take_hangs("hosts 2\ncollective_bound never\n",
               TWO_PROGRAMS "2: alloc size=2M host=1\n"
                            "3: execute program=0 delay=1us collective=0\n"
                            "4: execute program=1 delay=1us collective=0 host=1\n"
                            "5: execute program=0 delay=1us collective=0\n"
                            "6: advance delay=1s\n7: advance delay=1s\n8: advance delay=1s\n"
                            "9: advance delay=1s\n10: advance delay=1s\n");
    ck_assert_uint_eq(hangs.count, 1);
    ck_assert_int_eq(hangs.hangs[0].cause, HANG_GONE);
    ck_assert_uint_eq(hangs.hangs[0].cause_op, 4);
    ck_assert_uint_eq(hangs.hangs[0].since_step, 1);
    ck_assert_uint_eq(totals.hangs_without_word, 1);
}

/* A list that is cut in the middle of a step shows no hang. */
TEST(where_the_list_ends_at_once_nobody_is_gone)
{
    take_hangs("hosts 2\n", TWO_PROGRAMS "2: execute program=0 delay=1us collective=0\n");
    ck_assert_uint_eq(hangs.count, 1);
    ck_assert_int_eq(hangs.hangs[0].cause, HANG_LIST_ENDS);
    ck_assert_uint_eq(totals.hangs, 0);
}

TEST(hosts_of_other_groups_are_not_missed)
{
    take_hangs("hosts 4\ngroup 0 0-1 \"data 0\"\ngroup 1 2-3 \"data 1\"\ncollective_bound never\n",
               TWO_PROGRAMS "2: load size=1K stack=1K tag=1 host=2\n3: alloc size=2M host=1\n"
                            "4: execute program=0 delay=1us collective=0\n"
                            "5: execute program=2 delay=1us collective=1 host=2\n");
    ck_assert_uint_eq(hangs.count, 2);
    ck_assert_uint_eq(hangs.hangs[0].waiting, 1);
    ck_assert_uint_eq(hangs.hangs[0].missing, 1);
    ck_assert_int_eq(hangs.hangs[0].cause, HANG_OOM);
    ck_assert_uint_eq(hangs.hangs[1].waiting, 4);
    ck_assert_uint_eq(hangs.hangs[1].missing, 3);
    ck_assert_int_ne(hangs.hangs[1].cause, HANG_OOM);
}

TEST(a_cycle_is_told_once)
{
    take_hangs("hosts 2\ncollective_bound never\n",
               TWO_PROGRAMS "2: execute program=0 delay=1us collective=3\n"
                            "3: execute program=1 delay=1us collective=5 host=1\n");
    ck_assert_uint_eq(hangs.count, 1);
    ck_assert_int_eq(hangs.hangs[0].cause, HANG_ORDER);
    ck_assert_uint_eq(hangs.hangs[0].group, 3);
    ck_assert_uint_eq(hangs.hangs[0].other_group, 5);
    ck_assert_uint_eq(hangs.hangs[0].cause_op, 3);
}

TEST(a_request_that_waits_for_a_late_host_is_told_with_both)
{
    take_hangs("hosts 2\n", TWO_PROGRAMS "2: alloc size=900K\n"
                                         "3: execute program=0 delay=1us collective=0\n"
                                         "4: free_after block=2 event=3\n"
                                         "5: alloc size=900K\n"
                                         "6: execute program=1 delay=1us collective=0 host=1\n");
    ck_assert_uint_eq(hangs.count, 1);
    ck_assert_int_eq(hangs.hangs[0].cause, HANG_BEHIND);
    ck_assert(hangs.hangs[0].is_in_request);
    ck_assert_uint_eq(hangs.hangs[0].until, 5);
    ck_assert_uint_eq(hangs.hangs[0].came, 6);
    ck_assert_uint_eq(hangs.hangs[0].waited_ns, 5000000000);
    ck_assert_uint_eq(totals.ooms, 0);
}

/* --- words --- */

static const char *words_of(const struct hang *hang)
{
    static char words[512];
    struct writing text;
    writing_init(&text);
    hang_append(&setup, hang, &text);
    snprintf(words, sizeof words, "%s", writing_string(&text));
    writing_deinit(&text);
    return words;
}

TEST(hosts_are_named_as_ranges)
{
    setup_init(&setup);
    setup_set_hosts(&setup, 64);
    struct hang hang = {.cause = HANG_OOM,
                        .group = 7,
                        .waiting = 0xDB, /* 0, 1, 3, 4, 6, 7 */
                        .since = 9,
                        .since_step = HANG_NO_STEP,
                        .until = OP_NONE,
                        .missing = 63,
                        .cause_op = 8,
                        .cause_step = HANG_NO_STEP,
                        .came = OP_NONE};
    ck_assert_str_eq(words_of(&hang),
                     "host 0, 1, 3, 4, 6 and 7 wait in collective 7 since op 9: host 63 does not "
                     "come: it ran out of memory at op 8");
    hang.waiting = UINT64_MAX >> 1;
    ck_assert(setup_set_group(&setup, 7, UINT64_MAX, "all"));
    ck_assert_ptr_nonnull(strstr(words_of(&hang), "host 0 to 62 wait in collective 'all' since"));
    hang.waiting = UINT64_C(1) << 63 | 7;
    ck_assert_ptr_nonnull(strstr(words_of(&hang), "host 0 to 2 and 63 wait"));
    hang.waiting = 4;
    ck_assert_ptr_nonnull(strstr(words_of(&hang), "host 2 waits in"));
}

TEST(each_cause_has_a_name_and_a_summary)
{
    for (unsigned i = 0; i < HANG_CAUSE_COUNT; i++) {
        ck_assert_ptr_nonnull(hang_cause_name((enum hang_cause)i));
        ck_assert_ptr_nonnull(hang_cause_summary((enum hang_cause)i));
        for (unsigned k = 0; k < i; k++) {
            ck_assert_str_ne(hang_cause_name((enum hang_cause)i),
                             hang_cause_name((enum hang_cause)k));
        }
    }
}
