/* The log of what an op list met: which events are done and due, by whose time. */
#include "harness/op/ops_file.h"
#include "harness/run/observation_log.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct setup setup;
static struct op_list list;

/* Runs the list on libhbm, and compares the lines of its log with those given, ' standing for ". */
static void expect_log(const char *head, const char *ops, const char *lines)
{
    char text[2048], reason[RUN_REASON_BYTES], expected[2048];
    struct ops_file_error error;
    struct writing log;
    snprintf(text, sizeof text, "hbmstress-ops 1\ncapacity 1M\ngranule 512\n%s%s", head, ops);
    writing_init(&log);
    op_list_init(&list);
    ck_assert_msg(ops_file_parse(text, strlen(text), &setup, &list, &error) == OPS_FILE_OK, "%s",
                  error.reason);
    struct run *run = run_create(target_find("hbm"), &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    struct observation_log *told = observation_log_create();
    for (size_t i = 0; i < list.count; i++) {
        ck_assert_int_ne(run_step(run, &list.ops[i])->kind, VERDICT_BROKEN);
        observation_log_print_op(told, run, &log);
    }
    snprintf(expected, sizeof expected, "%s", lines);
    for (char *quote = expected; (quote = strchr(quote, '\'')) != NULL;) {
        *quote = '"';
    }
    ck_assert_str_eq(writing_string(&log), expected);
    observation_log_destroy(told);
    run_destroy(run);
    op_list_deinit(&list);
    writing_deinit(&log);
}

/* Host 0 and 2 execute together twice; host 1 is alone. */
static const char ops[] =
    "0: load size=1K\n1: load size=1K host=2\n2: alloc size=1K host=1\n"
    "3: use block=2 delay=5ns host=1\n4: advance delay=9us host=2\n"
    "5: execute program=0 delay=1us collective=4\n"
    "6: execute program=1 delay=2us collective=4 host=2\n7: advance delay=20us\n"
    "8: advance delay=5ns host=1\n9: advance delay=1us host=2\n10: complete event=6 host=2\n"
    "11: execute program=0 delay=1ns collective=4\n12: advance delay=1ms\n"
    "13: execute program=1 delay=1ns collective=4 host=2\n";

#define LINE(op, now, more) "{'op': " #op ", 'answer': 'ok', 'now': '" #now "'" more "}\n"
#define BLOCK ", 'address': 1047552, 'size': 1024"

/* What the other host's join ends at once is told with that join. */
TEST(each_host_tells_its_own_time)
{
    expect_log(
        "hosts 3\nclocks own\ngroup 4 0,2 \"data\"\n", ops,
        LINE(0, 0, BLOCK) LINE(1, 0, BLOCK) LINE(2, 0, BLOCK) LINE(3, 0, "") LINE(4, 9000, "")
            LINE(5, 0, BLOCK) LINE(6, 9000, BLOCK ", 'due': [[5, '10000'], [6, '11000']]")
                LINE(7, 20000, ", 'done': [5]") LINE(8, 5, ", 'done': [3]") LINE(9, 10000, "")
                    LINE(10, 10000, ", 'done': [6]") LINE(11, 20000, BLOCK) LINE(12, 1020000, "")
                        LINE(13, 10000, BLOCK ", 'done': [11], 'due': [[13, '20001']]"));
}

TEST(hosts_that_share_one_time_tell_it)
{
    expect_log(
        "hosts 3\ngroup 4 0,2 \"data\"\n", ops,
        LINE(0, 0, BLOCK) LINE(1, 0, BLOCK) LINE(2, 0, BLOCK) LINE(3, 0, "")
            LINE(4, 9000, ", 'done': [3]") LINE(5, 9000, BLOCK)
                LINE(6, 9000, BLOCK ", 'due': [[5, '10000'], [6, '11000']]")
                    LINE(7, 29000, ", 'done': [5, 6]") LINE(8, 29005, "")
                        LINE(9, 30005, "") "{'op': 10, 'answer': 'skipped', 'now': '30005'}\n" LINE(
                            11, 30005, BLOCK) LINE(12, 1030005, "")
                            LINE(13, 1030005, BLOCK ", 'due': [[11, '1030006'], [13, '1030006']]"));
}

/* Neither that, nor a use that began when its host's last op ended, is another time than the list
 * says. */
TEST(the_bound_of_the_head_is_known)
{
    expect_log("hosts 2\nclocks own\ncollective_bound 3us\n",
               "0: load size=1K\n1: execute program=0 delay=1us collective=4\n"
               "2: advance delay=5us\n3: advance delay=7us host=1\n"
               "4: alloc size=1K host=1\n5: use block=4 delay=9ns host=1\n"
               "6: execute program=0 delay=never collective=5\n",
               LINE(0, 0, BLOCK) LINE(1, 0, BLOCK) LINE(2, 5000, ", 'done': [1]") LINE(3, 7000, "")
                   LINE(4, 7000, BLOCK) LINE(5, 7000, "") LINE(6, 5000, BLOCK));
}
