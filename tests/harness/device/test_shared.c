/* Hosts that share the memory of one device: who may wake, who is refused, and who had it then. */
#include "harness/device/device.h"
#include "harness/device/timeline.h"
#include "targets/targets.h"
#include "tests/helpers/lists.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct setup setup;
static struct op_list list;
static struct run *run;

static void begin_list(const char *head, const char *ops)
{
    char text[4096];
    (void)snprintf(text, sizeof text, "capacity 1M\ngranule 512\n%s%s", head, ops);
    read_list(text, &setup, &list);
    run = begin_run(target_find("hbm"), &setup);
    step_all(run, &list);
    ck_assert_uint_eq(run_totals(run)->broken, 0);
}

/* What was counted, and who was refused memory by whom; is_over: what cleaning up finds is a
 * finding, too. */
static void end_list(bool is_over)
{
    const struct run_totals *totals = run_totals(run);
    SHOW(totals->skipped, totals->broken, totals->ooms, totals->justified, totals->premature,
         totals->shortages);
    for (uint32_t host = 0; host < setup.host_count; host++) {
        show("%s %" PRIu64 "K", host == 0 ? "mapped" : "",
             device_mapped_bytes(run_device(run, host)) >> 10);
    }
    for (size_t i = 0; i < run_shortages(run)->count; i++) {
        const struct shortage *one = &run_shortages(run)->shortages[i];
        show("\nop %u of host %u asked %" PRIu64 "K, left %" PRIu64 "K, host %u had %" PRIu64
             "K, %s since %d",
             one->op, one->host, one->asked_bytes >> 10, one->left_bytes >> 10, one->holder,
             one->holder_bytes >> 10, one->is_holder_awake ? "awake" : "asleep",
             (int)one->holder_since);
    }
    for (size_t i = 0; i < run_findings(run)->count; i++) {
        show("\n%s", run_findings(run)->findings[i].verdict.mechanism);
    }
    show("\n");
    snap_shown();
    ck_assert(!is_over || run_finish(run)->kind == VERDICT_NONE);
    run_destroy(run);
    op_list_deinit(&list);
}

/* --- the pool --- */

TEST(what_its_members_map_is_of_the_pool)
{
    struct timeline *timeline = timeline_create();
    struct device *a = device_create(100, timeline);
    struct device *b = device_create(100, timeline);
    struct device_pool pool = {.size_bytes = 150};
    const struct device_services *of_a = device_services(a);
    const struct device_services *of_b = device_services(b);
    of_b->unmap(of_b->context, 0, 100);
    device_join_pool(a, &pool, false);
    device_join_pool(b, &pool, false);
    ck_assert_uint_eq(device_pool_left_bytes(&pool), 50);
    device_begin_op(b, 100);
    ck_assert_int_eq(of_b->map(of_b->context, 0, 51), DEVICE_REFUSED);
    ck_assert_uint_eq(device_pool_refusal(b).asked_bytes, 51);
    ck_assert_uint_eq(device_mapped_bytes(b), 0);
    ck_assert(device_faults_fired(b) == 1u << FAULT_COPY);
    ck_assert_int_eq(of_b->map(of_b->context, 20, 30), DEVICE_OK);
    ck_assert_int_eq(of_b->map(of_b->context, 10, 50), DEVICE_OK); /* 20 of them are new */
    ck_assert_uint_eq(device_pool_left_bytes(&pool), 0);
    ck_assert_int_eq(of_b->map(of_b->context, 10, 50), DEVICE_OK);
    ck_assert_int_eq(of_b->map(of_b->context, 9, 2), DEVICE_REFUSED);
    ck_assert_uint_eq(device_pool_refusal(b).asked_bytes, 51); /* the first one */
    of_a->unmap(of_a->context, 40, 30);
    of_a->unmap(of_a->context, 30, 50); /* 20 of them were still there */
    ck_assert_uint_eq(device_pool_left_bytes(&pool), 50);
    device_begin_op(b, 100);
    ck_assert_uint_eq(device_pool_refusal(b).asked_bytes, 0);
    device_leave_pool(a);
    ck_assert_uint_eq(device_pool_left_bytes(&pool), 100);
    device_destroy(b);
    ck_assert_uint_eq(device_pool_left_bytes(&pool), 150);
    device_leave_pool(a);
    device_destroy(a);
    timeline_destroy(timeline);
}

/* --- sleeping by turns --- */

#define TWO "hosts 2\nclocks own\nshares 0-1\noption sleep=keeps\n"

TEST(all_sleep_at_first)
{
    begin_list(TWO, "\n0: alloc size=1K\n1: wake\n2: alloc size=1K\n3: alloc size=1K host=1\n");
    end_list(true);
}

TEST(who_wakes_too_early_is_refused_and_sleeps_on)
{
    begin_list(TWO, "\n0: wake\n1: alloc size=300K\n2: wake host=1\n3: alloc size=1K host=1\n"
                    "4: sleep\n5: wake host=1\n6: alloc size=1M host=1\n7: wake\n"
                    "8: sleep host=1\n9: wake\n10: touch block=1\n");
    end_list(true);
}

TEST(as_many_are_awake_as_there_is_room_for)
{
    begin_list("hosts 4\nclocks own\nshares 0-1,3 2560K\noption sleep=keeps\n",
               "\n0: wake\n1: wake host=3\n2: wake host=1\n3: alloc size=1K host=2\n");
    end_list(true); /* host 2 has a device of its own */
}

TEST(the_end_wakes_the_sleepers_after_the_others_are_gone)
{
    begin_list(TWO,
               "\n0: wake\n1: alloc size=1K\n2: sleep\n3: wake host=1\n4: alloc size=1K host=1\n");
    end_list(true);
}

TEST(hosts_that_share_may_be_answered_differently)
{
    begin_list(TWO, "\n0: wake\n1: alloc size=1K spmd=1\n2: alloc size=1M spmd=2\n3: sleep\n"
                    "4: wake host=1\n5: alloc size=1M spmd=1 host=1\n");
    end_list(true);
}

/* --- growing --- */

/* Lists of 64 MiB, with steps of 2 MiB. */
static void begin_growing(const char *options, const char *ops)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "capacity 64M\ngranule 512\nhosts 2\nclocks own\nshares 0-1\n%s\n%s", options,
                   ops);
    read_list(text, &setup, &list);
    run = begin_run(target_find("segments"), &setup);
    step_all(run, &list);
}

TEST(a_region_beyond_the_shared_device_is_refused_justly)
{
    begin_growing("", "0: alloc size=40M\n1: alloc size=20M host=1\n2: alloc size=6M host=1\n"
                      "3: alloc size=4M host=1\n4: alloc size=1K\n");
    end_list(true);
}

TEST(a_free_region_of_the_other_host_is_the_others)
{
    begin_growing("", "0: alloc size=60M\n1: free block=0\n2: alloc size=10M host=1\n"
                      "3: alloc size=62M\n4: free block=3\n");
    end_list(true); /* host 0 keeps what it freed at op 2, and trims for its own op 3 */
}

TEST(what_it_promised_to_give_back_counts_as_left)
{
    const char *ops = "0: alloc size=20M\n1: free block=0\n2: alloc size=40M host=1\n"
                      "3: alloc size=24M\n";
    begin_growing("", ops);
    end_list(true);
    begin_growing("option empty=keep\noption trims=yes\n", ops);
    end_list(false);
    begin_growing("option empty=keep\noption trims=no\n", ops);
    end_list(false);
}

/* --- what is refused --- */

TEST(the_head_comes_back_as_it_was, .to = 2)
{
    static const char *const heads[] = {"capacity 1M\nhosts 4\nshares 0-2\n",
                                        "capacity 1M\nhosts 4\nshares 0,2-3 3M\n"};
    read_list(heads[_i], &setup, &list);
    ck_assert_uint_eq(setup.shared_hosts, _i == 0 ? 7 : 13);
    ck_assert_uint_eq(setup_shared_bytes(&setup), _i == 0 ? 1 << 20 : 3 << 20);
    char *text = list_text(&setup, NULL, NULL);
    snap_lines(text, "shares");
    free(text);
}

TEST(a_target_that_does_not_sleep_shares_nothing)
{
    char reason[RUN_REASON_BYTES] = "";
    read_list("capacity 1M\nhosts 2\nshares 0-1\n", &setup, &list);
    ck_assert_ptr_null(run_create(target_find("first_fit"), &setup, reason));
    snap(reason);
    setup.shared_bytes = 1 << 19;
    ck_assert(setup_set_option(&setup, "sleep", "keeps"));
    ck_assert_ptr_null(run_create(target_find("hbm"), &setup, reason));
    snap(reason);
}

TEST(fewer_hosts_share_less)
{
    setup_init(&setup);
    setup_set_hosts(&setup, 3);
    setup.shared_hosts = 6;
    setup.shared_bytes = 7;
    setup_set_hosts(&setup, 3);
    ck_assert_uint_eq(setup.shared_bytes, 7);
    setup_set_hosts(&setup, 2);
    ck_assert_uint_eq(setup.shared_hosts, 0);
    ck_assert_uint_eq(setup.shared_bytes, 0);
}
