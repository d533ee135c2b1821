/* How clients are dealt to lanes.  tests/cases/run/standstills.case has how they stand still. */
#include "harness/lanes/deal.h"
#include "harness/op/setup.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>

enum { K = 1024 };

static struct op request(uint8_t client, uint64_t size_bytes)
{
    struct op op = op_make(OP_ALLOC);
    op.tag = client;
    op.size_bytes = size_bytes;
    return op;
}

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
