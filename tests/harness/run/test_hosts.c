/* The clocks, groups and waits of hosts with a time of their own.  tests/cases/run/hosts.case has
 * lists of ops, tests/snap/bad_lists.snap heads that are wrong. */
#include "harness/device/collectives.h"
#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a list as text, run to its end --- */

static struct setup setup;
static struct op_list list;
static struct run *run;

static void begin_list(const char *head, const char *ops)
{
    char text[4096];
    (void)snprintf(text, sizeof text, "capacity 1M\ngranule 1\n%s%s", head, ops);
    read_list(text, &setup, &list);
    run = begin_run(target_find("hbm"), &setup);
    step_all(run, &list);
    ck_assert(!run_is_broken(run));
}

static void show_waits(void)
{
    const struct waits *waits = run_waits(run);
    for (const struct vain_wait *wait = waits->waits; wait < waits->waits + waits->count; wait++) {
        SHOW(wait->host, wait->group, wait->since, wait->until == OP_NONE ? -1 : (int)wait->until);
        SHOW(wait->since_ns, wait->until_ns, wait->missing);
    }
}

static void end_list(void)
{
    run_destroy(run);
    op_list_deinit(&list);
}

EVERY_TEST(.teardown = snap_rest);

/* --- time --- */

TEST(a_clock_may_be_ahead_and_drift)
{
    static const struct {
        struct setup_clock clock;
        uint64_t now_ns, reading_ns;
    } rows[] = {{{0, 0}, 5000000, 5000000},
                {{0, 1}, 5000000, 5000005},
                {{1000, 40}, 5000000, 5001200},
                {{0, -100000}, 5000000, 4500000},
                {{0, -100000}, UINT64_MAX - 1, 16602069666338596453U},
                {{UINT64_MAX - 1, 0}, 1, UINT64_MAX - 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_uint_eq(setup_clock_reading(&rows[i].clock, rows[i].now_ns), rows[i].reading_ns);
    }
    struct timeline *timeline = timeline_create();
    struct device *device = device_create(64, timeline);
    const struct device_services *services = device_services(device);
    timeline_advance(timeline, 5000000);
    device_begin_op(device, 1000);
    ck_assert_uint_eq(services->clock_ns(services->context), 5000000);
    device_set_clock(device, &rows[2].clock);
    ck_assert_uint_eq(services->clock_ns(services->context), 5001200);
    device_destroy(device);
    timeline_destroy(timeline);
}

/* --- collectives --- */

static struct timeline *timelines[OP_HOST_COUNT_MAX];
static struct collectives *collectives;

static void begin_collectives(const struct setup *hosts)
{
    for (uint32_t i = 0; i < hosts->host_count; i++) {
        timelines[i] = i == 0 ? timeline_create() : timeline_create_beside(timelines[0]);
    }
    collectives = collectives_create(hosts, timelines);
}

static void end_collectives(void)
{
    collectives_destroy(collectives);
    for (int i = 0; i < OP_HOST_COUNT_MAX && timelines[i] != NULL; i++) {
        timeline_destroy(timelines[i]);
    }
}

TEST(the_nth_executions_of_the_members_belong_together, .teardown = end_collectives)
{
    struct setup three;
    setup_init(&three);
    three.host_count = 3;
    three.has_clocks = true;
    ck_assert(setup_set_group(&three, 9, 3, "pair"));
    begin_collectives(&three);
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
}

TEST(all_of_64_hosts_may_meet, .teardown = end_collectives)
{
    struct setup all;
    setup_init(&all);
    setup_set_hosts(&all, OP_HOST_COUNT_MAX);
    begin_collectives(&all);
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
    show_waits();
    end_list();
    begin_list("hosts 3\nclocks own\n",
               PROGRAMS "3: execute program=0 delay=3us collective=4\n"
                        "4: execute program=2 delay=3us collective=4 host=2\n");
    ck_assert_uint_eq(run_waits(run)->count, 0);
    (void)run_finish(run);
    show("of all hosts:\n");
    show_waits();
    end_list();
}

/* --- the head --- */

TEST(the_head_comes_back_as_it_was)
{
    read_list("hosts 64\nclocks own\nclock 3 ahead=3ms drift=-40\n"
              "clock 63 ahead=0s drift=7\ncollective_bound never\n"
              "group 1 0-31 \"data 0\"\ngroup 700 1,3,5-7,63 \"pipe 1\"\n\n0: report\n",
              &setup, &list);
    ck_assert_uint_eq(setup_members(&setup, 1), UINT32_MAX);
    ck_assert_uint_eq(setup_members(&setup, 2), UINT64_MAX);
    ck_assert_uint_eq(setup_members(&setup, 700), 0xEA | UINT64_C(1) << 63);
    ck_assert_uint_eq(setup_collective_bound_ns(&setup), DELAY_NEVER);
    char *text = list_text(&setup, NULL, NULL);
    show("%s", text);
    free(text);
    op_list_deinit(&list);
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
