/* The log of what an op list met: which events are done and due, by whose time. */
#include "harness/run/observation_log.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>

/* Runs the list on libhbm; the lines of its log are the next block. */
static void snap_log(const char *head, const char *ops)
{
    char text[2048];
    struct setup setup;
    struct op_list list;
    struct writing log;
    snprintf(text, sizeof text, "capacity 1M\ngranule 512\n%s%s", head, ops);
    writing_init(&log);
    read_list(text, &setup, &list);
    struct run *run = begin_run(target_find("hbm"), &setup);
    struct observation_log *told = observation_log_create();
    for (size_t i = 0; i < list.count; i++) {
        ck_assert_int_ne(run_step(run, &list.ops[i])->kind, VERDICT_BROKEN);
        observation_log_print_op(told, run, &log);
    }
    snap(writing_string(&log));
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

/* What the other host's join ends at once is told with that join. */
TEST(each_host_tells_its_own_time)
{
    snap_log("hosts 3\nclocks own\ngroup 4 0,2 \"data\"\n", ops);
}

TEST(hosts_that_share_one_time_tell_it)
{
    snap_log("hosts 3\ngroup 4 0,2 \"data\"\n", ops);
}

/* Neither that, nor a use that began when its host's last op ended, is another time than the list
 * says. */
TEST(the_bound_of_the_head_is_known)
{
    snap_log("hosts 2\nclocks own\ncollective_bound 3us\n",
             "0: load size=1K\n1: execute program=0 delay=1us collective=4\n"
             "2: advance delay=5us\n3: advance delay=7us host=1\n"
             "4: alloc size=1K host=1\n5: use block=4 delay=9ns host=1\n"
             "6: execute program=0 delay=never collective=5\n");
}
