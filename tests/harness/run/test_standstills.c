/* Clients that all wait for memory, and which of them could have gone on; how they are dealt to
 * lanes. */
#include "harness/lanes/deal.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>

enum { K = 1024 };

static struct run *run;

/* hbm on a device of 12 KiB. */
static void start_clients(unsigned client_count)
{
    static struct setup setup;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    setup.chip[0] = '\0';
    setup.capacity_bytes = 12 * K;
    setup.granule_bytes = 512;
    for (unsigned i = 0; i < client_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "client %u", i);
        setup_set_tag(&setup, (uint8_t)i, name);
    }
    run = run_create(&target_hbm, &setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
}

static void stop_clients(void)
{
    ck_assert_int_eq(run_finish(run)->kind, VERDICT_NONE);
    run_destroy(run);
}

static void expect(struct op op, enum verdict_kind kind)
{
    const struct verdict *verdict = run_step(run, &op);
    ck_assert_msg(verdict->kind == kind, "%s: %s", verdict_name(verdict->kind), verdict->reason);
    ck_assert_uint_eq(run_observation(run)->skipped, 0);
}

static struct op request(uint8_t client, uint64_t size_bytes)
{
    struct op op = op_make(OP_ALLOC);
    op.tag = client;
    op.size_bytes = size_bytes;
    return op;
}

static void grant(uint8_t client, uint64_t size_bytes)
{
    expect(request(client, size_bytes), VERDICT_NONE);
}

static void refuse(uint8_t client, uint64_t size_bytes)
{
    expect(request(client, size_bytes), VERDICT_JUSTIFIED);
}

static void free_block(uint32_t ref)
{
    struct op op = op_make(OP_FREE);
    op.ref = ref;
    expect(op, VERDICT_NONE);
}

static const struct standstill *the_one(void)
{
    ck_assert_uint_eq(run_standstills(run)->count, 1);
    ck_assert_uint_eq(run_totals(run)->standstills, 1);
    return &run_standstills(run)->standstills[0];
}

/* --- what one is --- */

TEST(clients_that_were_all_refused_twice_stand_still)
{
    start_clients(2);
    grant(0, 5 * K);
    grant(1, 5 * K);
    refuse(0, 4 * K);
    refuse(1, 4 * K);
    refuse(0, 4 * K);
    ck_assert_uint_eq(run_standstills(run)->count, 0);
    refuse(1, 4 * K);
    const struct standstill *found = the_one();
    ck_assert_int_eq(found->way, STANDSTILL_ORDER);
    ck_assert_uint_eq(found->since, 3);
    ck_assert_uint_eq(found->told, 5);
    ck_assert_uint_eq(found->client_count, 2);
    ck_assert_uint_eq(found->client, 0);
    ck_assert_uint_eq(found->gives_way, 1);
    ck_assert_uint_eq(found->requested_bytes, 4 * K);
    ck_assert(!found->fits_now);
    ck_assert_uint_eq(run_totals(run)->standstills_ordered, 1);
    stop_clients();
}

TEST(one_standstill_is_told_once)
{
    start_clients(2);
    grant(0, 5 * K);
    grant(1, 5 * K);
    for (int i = 0; i < 9; i++) {
        refuse(0, 4 * K);
        refuse(1, 4 * K);
    }
    (void)the_one();
    stop_clients();
}

TEST(whoever_is_granted_something_ends_the_round)
{
    start_clients(2);
    grant(0, 5 * K);
    grant(1, 5 * K);
    refuse(0, 4 * K);
    refuse(1, 4 * K);
    refuse(0, 4 * K);
    grant(1, 1 * K);
    refuse(1, 4 * K);
    refuse(0, 4 * K);
    ck_assert_uint_eq(run_standstills(run)->count, 0);
    refuse(1, 4 * K);
    ck_assert_uint_eq(the_one()->since, 6);
    stop_clients();
}

TEST(a_client_that_was_never_refused_keeps_the_others_from_it)
{
    start_clients(3);
    grant(0, 6 * K);
    grant(1, 6 * K);
    for (int i = 0; i < 3; i++) {
        refuse(0, 4 * K);
        refuse(1, 4 * K);
    }
    ck_assert_uint_eq(run_standstills(run)->count, 0);
    stop_clients();
}

TEST(what_is_asked_again_with_time_pinned_is_not_the_clients)
{
    start_clients(2);
    grant(0, 5 * K);
    grant(1, 5 * K);
    refuse(0, 4 * K);
    struct op again = op_make(OP_ALLOC);
    again.flags = OP_RETRY;
    expect(again, VERDICT_JUSTIFIED);
    refuse(1, 4 * K);
    expect(again, VERDICT_JUSTIFIED);
    ck_assert_uint_eq(run_standstills(run)->count, 0);
    stop_clients();
}

TEST(without_two_clients_nothing_is_looked_at)
{
    start_clients(1);
    ck_assert_ptr_null(run_standstills(run));
    stop_clients();
}

/* --- who could have gone on --- */

TEST(no_order_helps_where_the_device_is_too_small)
{
    start_clients(2);
    grant(0, 5 * K);
    grant(1, 5 * K);
    for (int i = 0; i < 2; i++) {
        refuse(0, 8 * K);
        refuse(1, 13 * K);
    }
    ck_assert_int_eq(the_one()->way, STANDSTILL_TOO_SMALL);
    ck_assert_uint_eq(run_totals(run)->standstills_ordered, 0);
    stop_clients();
}

TEST(its_own_memory_stays_when_others_give_way)
{
    start_clients(2);
    grant(0, 5 * K);
    grant(1, 5 * K);
    for (int i = 0; i < 2; i++) {
        refuse(0, 8 * K);
        refuse(1, 7 * K);
    }
    ck_assert_uint_eq(the_one()->client, 1);
    ck_assert_uint_eq(the_one()->gives_way, 0);
    stop_clients();
}

TEST(several_may_have_to_give_way)
{
    start_clients(3);
    for (uint8_t i = 0; i < 3; i++) {
        grant(i, 4 * K);
    }
    for (int round = 0; round < 2; round++) {
        for (uint8_t i = 0; i < 3; i++) {
            refuse(i, 7 * K);
        }
    }
    ck_assert_int_eq(the_one()->way, STANDSTILL_ORDER);
    ck_assert_uint_eq(the_one()->gives_way, STANDSTILL_NOBODY);
    ck_assert(!the_one()->fits_now);
    stop_clients();
}

TEST(a_request_that_would_fit_by_then_needs_nobody)
{
    start_clients(2);
    grant(0, 4 * K);
    grant(0, 2 * K);
    grant(1, 5 * K);
    refuse(0, 3 * K);
    refuse(1, 8 * K);
    refuse(0, 3 * K);
    free_block(1);
    refuse(1, 8 * K);
    ck_assert_int_eq(the_one()->way, STANDSTILL_ORDER);
    ck_assert_uint_eq(the_one()->client, 0);
    ck_assert(the_one()->fits_now);
    stop_clients();
}

/* --- lanes --- */

TEST(a_client_is_dealt_to_one_lane_with_all_that_it_does)
{
    struct setup setup;
    struct op_list ops;
    setup_init(&setup);
    for (unsigned i = 0; i < 5; i++) {
        char name[24];
        snprintf(name, sizeof name, "client %u", i);
        setup_set_tag(&setup, (uint8_t)i, name);
    }
    op_list_init(&ops);
    for (uint32_t i = 0; i < 10; i++) {
        const struct op asked = request((uint8_t)(i % 5), K);
        struct op freed = op_make(OP_FREE_AFTER);
        struct op ended = op_make(OP_COMPLETE);
        freed.ref = 3 * i;
        ended.event = 3 * i + 1;
        op_list_append(&ops, &asked);
        op_list_append(&ops, &freed);
        op_list_append(&ops, &ended);
    }
    deal_by_client(&ops, 15, &setup, 3);
    for (size_t i = 0; i < ops.count; i++) {
        ck_assert_uint_eq(ops.ops[i].lane, i < 15 ? 0 : i / 3 % 5 % 3);
    }
    op_list_deinit(&ops);
}

TEST(the_ops_of_others_stay_where_they_are)
{
    struct setup setup;
    struct op_list ops;
    struct op asked = request(0, K);
    setup_init(&setup);
    setup_set_tag(&setup, 1, "client 1");
    op_list_init(&ops);
    asked.lane = 2;
    op_list_append(&ops, &asked);
    deal_by_client(&ops, 0, &setup, 3);
    ck_assert_uint_eq(ops.ops[0].lane, 2);
    op_list_deinit(&ops);
}
