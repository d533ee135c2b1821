/* The clocks, groups and waits of hosts with a time of their own.  tests/cases/run/hosts.case has
 * lists of ops. */
#include "harness/device/collectives.h"
#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "harness/op/ops_file.h"
#include "harness/run/trial.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a list as text, run to its end --- */

static struct setup setup;
static struct op_list list;
static struct run *run;

static enum ops_file_result read_list(const char *head, const char *ops,
                                      struct ops_file_error *error)
{
    char text[4096];
    const int length = snprintf(text, sizeof text, "hbmstress-ops 1\ncapacity 1M\ngranule 1\n%s%s",
                                head, ops);
    op_list_init(&list);
    return ops_file_parse(text, (size_t)length, &setup, &list, error);
}

static void begin_list(const char *head, const char *ops)
{
    struct ops_file_error error;
    char reason[RUN_REASON_BYTES] = "";
    ck_assert_msg(read_list(head, ops, &error) == OPS_FILE_OK, "%s", error.reason);
    run = run_create(target_find("hbm"), &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    for (size_t i = 0; i < list.count; i++) {
        ck_assert_int_ne(run_step(run, &list.ops[i])->kind, VERDICT_BROKEN);
    }
}

static void end_list(void)
{
    run_destroy(run);
    op_list_deinit(&list);
}

/* --- time --- */

TEST(a_clock_may_be_ahead_and_drift)
{
    const struct setup_clock right = {0}, late = {0, 1}, fast = {1000, 40}, slow = {0, -100000},
                             far = {UINT64_MAX - 1, 0};
    ck_assert_uint_eq(setup_clock_reading(&right, 5000000), 5000000);
    ck_assert_uint_eq(setup_clock_reading(&late, 5000000), 5000005);
    ck_assert_uint_eq(setup_clock_reading(&fast, 5000000), 5001200);
    ck_assert_uint_eq(setup_clock_reading(&slow, 5000000), 4500000);
    ck_assert_uint_eq(setup_clock_reading(&slow, UINT64_MAX - 1), 16602069666338596453U);
    ck_assert_uint_eq(setup_clock_reading(&far, 1), UINT64_MAX - 1);
    struct timeline *timeline = timeline_create();
    struct device *device = device_create(64, timeline);
    const struct device_services *services = device_services(device);
    timeline_advance(timeline, 5000000);
    device_begin_op(device, 1000);
    ck_assert_uint_eq(services->clock_ns(services->context), 5000000);
    device_set_clock(device, &fast);
    ck_assert_uint_eq(services->clock_ns(services->context), 5001200);
    device_destroy(device);
    timeline_destroy(timeline);
}

/* --- collectives --- */

TEST(the_nth_executions_of_the_members_belong_together)
{
    struct timeline *timelines[3];
    struct setup three;
    setup_init(&three);
    three.host_count = 3;
    three.has_clocks = true;
    ck_assert(setup_set_group(&three, 9, 3, "pair"));
    timelines[0] = timeline_create();
    timelines[1] = timeline_create_beside(timelines[0]);
    timelines[2] = timeline_create_beside(timelines[0]);
    struct collectives *collectives = collectives_create(&three, timelines);
    for (uint64_t event = 1; event <= 3; event++) {
        timeline_add(timelines[0], event, DELAY_NEVER);
        collectives_join(collectives, event, 9, 0, event);
        timeline_advance(timelines[0], 10);
    }
    ck_assert_uint_eq(collectives_open_count(collectives), 3);
    ck_assert_ptr_eq(collectives_open_of(collectives, 2), collectives_open_at(collectives, 1));
    for (uint64_t event = 4; event <= 5; event++) {
        timeline_add(timelines[1], event, DELAY_NEVER);
        timeline_advance(timelines[1], 100);
        collectives_join(collectives, event, 9, 1, 50);
    }
    ck_assert_uint_eq(timeline_due_ns(timelines[0], 1), 101);
    ck_assert_uint_eq(timeline_due_ns(timelines[0], 2), 202);
    ck_assert_uint_eq(timeline_due_ns(timelines[0], 3), 20 + COLLECTIVE_BOUND_NS);
    ck_assert_uint_eq(timeline_due_ns(timelines[1], 5), 250);
    ck_assert_int_eq(timeline_state(timelines[0], 4), EVENT_UNKNOWN);
    timeline_add(timelines[2], 6, DELAY_NEVER); /* no member: alone */
    collectives_join(collectives, 6, 9, 2, 7);
    ck_assert_uint_eq(timeline_due_ns(timelines[2], 6), 7);
    ck_assert_uint_eq(collectives_open_count(collectives), 1);
    ck_assert_uint_eq(collectives_open_at(collectives, 0)->joined, 1);
    collectives_destroy(collectives);
    for (int i = 0; i < 3; i++) {
        timeline_destroy(timelines[i]);
    }
}

TEST(all_of_64_hosts_may_meet)
{
    struct timeline *timelines[OP_HOST_COUNT_MAX];
    struct setup all;
    setup_init(&all);
    setup_set_hosts(&all, OP_HOST_COUNT_MAX);
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        timelines[i] = i == 0 ? timeline_create() : timeline_create_beside(timelines[0]);
    }
    struct collectives *collectives = collectives_create(&all, timelines);
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        ck_assert_uint_eq(collectives_open_count(collectives), i > 0);
        timeline_add(timelines[i], i + 1, DELAY_NEVER);
        timeline_advance(timelines[i], 1000 - i);
        collectives_join(collectives, i + 1, 3, i, i);
        ck_assert_ptr_null(collectives_open_of(collectives, OP_HOST_COUNT_MAX + 1));
    }
    ck_assert_uint_eq(collectives_open_count(collectives), 0);
    ck_assert_int_eq(timeline_state(timelines[0], 1), EVENT_DONE); /* host 0 came last */
    for (uint32_t i = 1; i < OP_HOST_COUNT_MAX; i++) {
        ck_assert_uint_eq(timeline_due_ns(timelines[i], i + 1), 1000 + i);
    }
    collectives_destroy(collectives);
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        timeline_destroy(timelines[i]);
    }
}

/* Of a collective that starts, and of a fault that delays it again. */
TEST(an_event_that_is_lost_stays_so)
{
    struct timeline *timeline = timeline_create();
    timeline_add(timeline, 1, 5);
    timeline_add(timeline, 2, 5);
    timeline_postpone(timeline, 1, DELAY_NEVER);
    timeline_postpone(timeline, 1, 3);
    timeline_postpone(timeline, 2, 3);
    timeline_start(timeline, 1, 4);
    timeline_start(timeline, 1, 0);
    timeline_start_at(timeline, 1, 0);
    ck_assert_uint_eq(timeline_due_ns(timeline, 1), DELAY_NEVER);
    ck_assert_uint_eq(timeline_due_ns(timeline, 2), 8);
    timeline_start_at(timeline, 2, 0);
    ck_assert_int_eq(timeline_state(timeline, 2), EVENT_DONE);
    timeline_advance(timeline, 7);
    timeline_add(timeline, 3, DELAY_NEVER);
    timeline_start_at(timeline, 3, 7);
    ck_assert_int_eq(timeline_state(timeline, 3), EVENT_DONE);
    timeline_destroy(timeline);
}

/* --- waits --- */

TEST(only_the_first_waits_are_noted)
{
    begin_list("hosts 2\nclocks own\n", "0: load size=1K\n");
    for (uint32_t i = 0; i < WAIT_COUNT_MAX + 3; i++) {
        struct op op = op_make(OP_EXECUTE);
        op.ref = 0;
        op.flags = OP_COLLECTIVE;
        ck_assert_int_ne(run_step(run, &op)->kind, VERDICT_BROKEN);
    }
    (void)run_finish(run);
    ck_assert_uint_eq(run_waits(run)->total, WAIT_COUNT_MAX + 3);
    ck_assert_uint_eq(run_waits(run)->count, WAIT_COUNT_MAX);
    ck_assert_uint_eq(run_waits(run)->waits[WAIT_COUNT_MAX - 1].since, WAIT_COUNT_MAX);
    end_list();
}

#define PROGRAMS "0: load size=1K\n1: load size=1K host=1\n2: load size=1K host=2\n"

TEST(who_waits_in_vain_is_noted)
{
    begin_list("hosts 3\nclocks own\ncollective_bound 1m\ngroup 4 0-1 \"data\"\n",
               PROGRAMS "3: advance delay=3us\n"
                        "4: execute program=0 delay=3us collective=4\n"
                        "5: unload program=0\n6: alloc size=1M\n");
    ck_assert_uint_eq(run_waits(run)->count, 1);
    const struct vain_wait *wait = &run_waits(run)->waits[0];
    ck_assert_uint_eq(wait->host, 0);
    ck_assert_uint_eq(wait->group, 4);
    ck_assert_uint_eq(wait->since, 4);
    ck_assert_uint_eq(wait->until, 6);
    ck_assert_uint_eq(wait->since_ns, 3000);
    ck_assert_uint_eq(wait->until_ns, 3000 + UINT64_C(60000000000));
    ck_assert_uint_eq(wait->missing, 2);
    end_list();
    begin_list("hosts 3\nclocks own\n",
               PROGRAMS "3: execute program=0 delay=3us collective=4\n"
                        "4: execute program=2 delay=3us collective=4 host=2\n");
    ck_assert_uint_eq(run_waits(run)->count, 0);
    (void)run_finish(run);
    ck_assert_uint_eq(run_waits(run)->count, 2);
    ck_assert_uint_eq(run_waits(run)->waits[1].host, 2);
    ck_assert_uint_eq(run_waits(run)->waits[1].until, OP_NONE);
    ck_assert_uint_eq(run_waits(run)->waits[1].missing, 2);
    end_list();
}

/* --- the head --- */

TEST(the_head_comes_back_as_it_was)
{
    struct ops_file_error error;
    const char *head = "hosts 64\nclocks own\nclock 3 ahead=3ms drift=-40\n"
                       "clock 63 ahead=0s drift=7\ncollective_bound never\n"
                       "group 1 0-31 \"data 0\"\ngroup 700 1,3,5-7,63 \"pipe 1\"\n";
    char *text = NULL;
    size_t length = 0;
    ck_assert_int_eq(read_list(head, "\n0: report\n", &error), OPS_FILE_OK);
    ck_assert_uint_eq(setup_members(&setup, 1), UINT32_MAX);
    ck_assert_uint_eq(setup_members(&setup, 2), UINT64_MAX);
    ck_assert_uint_eq(setup_members(&setup, 700), 0xEA | UINT64_C(1) << 63);
    ck_assert_uint_eq(setup_collective_bound_ns(&setup), DELAY_NEVER);
    FILE *stream = open_memstream(&text, &length);
    ops_file_print_head(stream, &setup);
    fclose(stream);
    for (const char *line = head; *line != '\0'; line = strchr(line, '\n') + 1) {
        char one[128];
        snprintf(one, sizeof one, "%.*s", (int)(strchr(line, '\n') - line + 1), line);
        ck_assert_msg(strstr(text, one) != NULL, "%s is not in %s", one, text);
    }
    free(text);
    op_list_deinit(&list);
}

TEST(what_is_wrong_in_the_head_is_said)
{
    static const struct {
        const char *head, *ops, *reason;
    } wrong[] = {
        {"clocks shared\n", "", "'shared' is not accepted: the only value is own"},
        {"clock 0 ahead=1ms drift=1\n", "", "the head has a clock, but not 'clocks own'"},
        {"clocks own\nclock 1 ahead=1ms drift=1\n", "", "a host that is not there"},
        {"hosts 64\nclocks own\nclock 64 ahead=0s drift=1\n", "", "from 0 to 63"},
        {"clocks own\nclock 0 behind=1ms drift=1\n", "", "a clock is HOST ahead="},
        {"clocks own\nclock 0 ahead=1ms ahead=1ms\n", "", "a clock is HOST ahead="},
        {"clocks own\nclock 0 ahead=1ms\n", "", "a clock is HOST ahead=DURATION drift=MILLIONTHS"},
        {"clocks own\nclock 0 ahead=1ms drift=100001\n", "", "100001"},
        {"clocks own\nclock 0 ahead=0ns drift=1\nclock 0 ahead=0ns drift=1\n", "", "given twice"},
        {"group 1 0-1 \"a\"\n", "", "a host that is not there"},
        {"group 1 0 a\n", "", "in double quotes"},
        {"group 1 0 \"\"\n", "", "a group has a name"},
        {"group 1 0,0 \"a\"\n", "", "a host is given twice"},
        {"group 1 3-2 \"a\"\n", "", "ends before it begins"},
        {"group 1 0 \"a\"\ngroup 1 0 \"b\"\n", "", "the group 1 is given twice"},
        {"collective_bound 0ns\n", "", "is not a duration"},
        {"clocks own\n", "\n0: alloc size=1K lane=1\n", "does not go together with lanes"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ops_file_error error;
        ck_assert_int_eq(read_list(wrong[i].head, wrong[i].ops, &error), OPS_FILE_INVALID);
        ck_assert_msg(strstr(error.reason, wrong[i].reason) != NULL, "'%s' is not in '%s'",
                      wrong[i].reason, error.reason);
        op_list_deinit(&list);
    }
}

TEST(fewer_hosts_take_their_groups_along)
{
    struct setup fewer;
    setup_init(&fewer);
    setup_set_hosts(&fewer, 4);
    fewer.has_clocks = true;
    fewer.clocks[3].drift = 5;
    fewer.clocks[2].ahead_ns = 1;
    ck_assert(setup_set_group(&fewer, 1, 8, "gone"));
    ck_assert(setup_set_group(&fewer, 8, 0xC, "later than all"));
    ck_assert(setup_set_group(&fewer, 8, 0xC, "late"));
    ck_assert_str_eq(setup_group_name(&fewer, 8), "late");
    ck_assert(setup_set_group(&fewer, 2, 0x6, "early"));
    ck_assert_uint_eq(fewer.groups[1].number, 2);
    setup_set_hosts(&fewer, 2);
    ck_assert_uint_eq(fewer.group_count, 1);
    ck_assert_uint_eq(setup_members(&fewer, 2), 2);
    ck_assert_uint_eq(setup_members(&fewer, 8), 3); /* of all, as none is declared */
    ck_assert_int_eq(fewer.clocks[3].drift, 0);
    ck_assert_uint_eq(fewer.clocks[2].ahead_ns, 0);
    ck_assert_uint_eq(fewer.clocks[3].ahead_ns, 0);
    struct setup copy;
    setup_init(&copy);
    fewer.weights[0] = 7;
    setup_copy(&copy, &fewer);
    ck_assert_uint_eq(copy.weights[0], 7);
    ck_assert_str_eq(setup_group_name(&copy, 2), "early");
    ck_assert_str_eq(setup_group_name(&copy, 8), "");
    ck_assert(setup_set_group(&copy, 2, 1, "a\x7f\x80\"b~ \x1f"));
    ck_assert_str_eq(setup_group_name(&copy, 2), "a___b~ _");
}
