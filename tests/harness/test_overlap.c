/* Calls that overlap, in an order that the test chooses: begins and returns one by one, on one
 * thread. */
#include "harness/call/clients.h"
#include "harness/call/driver.h"
#include "harness/rules/judge_overlap.h"
#include "harness/run/run_state.h"
#include "tests/harness/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

enum { CALL_COUNT_MAX = 16 };

/* By number of the op: the call, where it is in the overlap, and what was said of it. */
static struct rig {
    struct clients *clients;
    struct overlap overlap;
    struct call calls[CALL_COUNT_MAX];
    uint64_t handles[CALL_COUNT_MAX];
    uint32_t in_overlap[CALL_COUNT_MAX];
    struct verdict verdicts[CALL_COUNT_MAX];
} rig;

static void start_lanes(enum defrag_contract defrag)
{
    prepare();
    script.contract.defrag = defrag;
    start_hosts(1);
    rig = (struct rig){.clients = clients_create(CALL_COUNT_MAX)};
    host_set_clients(&script.run->hosts[0], rig.clients);
}

static void stop_lanes(void)
{
    host_set_clients(&script.run->hosts[0], NULL);
    overlap_deinit(&rig.overlap);
    clients_destroy(rig.clients);
    stop();
}

static uint32_t begin_call(struct op op)
{
    struct run *run = script.run;
    struct host *host = &run->hosts[0];
    const uint32_t number = (uint32_t)run->ops.count;
    ck_assert_uint_lt(number, CALL_COUNT_MAX);
    op_list_append(&run->ops, &op);
    if (rig.overlap.call_count == 0) {
        host_begin_call(host);
    }
    rig.in_overlap[number] = overlap_begin(&rig.overlap, &run->judge, host, 0);
    clients_begin(rig.clients, &op);
    rig.handles[number] = driver_begin_call(host, run->timeline, &op, number, &rig.calls[number]);
    return number;
}

static bool note_verdict(void *context, const struct overlap_call *over)
{
    const struct run *run = context;
    rig.verdicts[over->call.number] = run->verdict;
    return run->verdict.kind != VERDICT_BROKEN && run->verdict.kind != VERDICT_PREMATURE;
}

/* What is said of a call stands once the last of the overlap has returned. */
static void end_call(uint32_t number)
{
    struct run *run = script.run;
    struct host *host = &run->hosts[0];
    struct call *call = &rig.calls[number];
    driver_call_target(host, &run->setup, rig.handles[number], call);
    driver_end_call(host, run->timeline, &run->setup, call);
    clients_end(rig.clients, call);
    const struct overlap_answer answer = {rig.in_overlap[number], call,
                                          overlap_message(host, call)};
    overlap_end(&rig.overlap, &run->judge, &answer);
    if (rig.overlap.under_way_count == 0) {
        const struct overlap_teller teller = {run, note_verdict};
        host_end_call(host);
        (void)judge_overlap(&run->judge, &rig.overlap, &teller);
        overlap_clear(&rig.overlap);
    }
}

/* Op 0 makes a block of two granules at granule 7 of 16, with handle 1. */
static void make_block_at_7(void)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 2 * G;
    script.block = (struct target_block){1, 7 * G, 2 * G};
    const uint32_t number = begin_call(op);
    end_call(number);
    KEEPS(&rig.verdicts[number]);
}

/* --- effects in flight --- */

/* Fourteen granules are free, seven on either side of the block: they do only if it moves. */
START_TEST(a_call_under_way_may_have_pinned_its_block_already)
{
    const struct {
        enum op_kind kind;
        enum verdict_kind verdict;
    } rows[] = {
        {OP_HOLD, VERDICT_JUSTIFIED},
        {OP_USE, VERDICT_JUSTIFIED},
        {OP_FREE_AFTER, VERDICT_JUSTIFIED},
        {OP_TOUCH, VERDICT_PREMATURE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        struct op op = op_make(rows[i].kind);
        op.ref = 0;
        op.delay_ns = 1000;
        const uint32_t pin = begin_call(op);
        struct op large = op_make(OP_ALLOC);
        large.size_bytes = 14 * G;
        const uint32_t request = begin_call(large);
        script.result = TARGET_NO_MEMORY;
        end_call(request);
        end_call(pin);
        ck_assert_msg(rig.verdicts[request].kind == rows[i].verdict, "row %zu: %s %s", i,
                      verdict_name(rig.verdicts[request].kind), rig.verdicts[request].reason);
        stop_lanes();
    }
}
END_TEST

/* --- bounds --- */

static void copy_out_of_the_device(void)
{
    ck_assert_int_eq(copy(7, 15, 2), DEVICE_REFUSED);
}

static void copy_inside_the_device(void)
{
    ck_assert_int_eq(copy(7, 14, 2), DEVICE_OK);
}

START_TEST(no_overlapping_call_copies_out_of_the_device)
{
    for (int is_outside = 0; is_outside < 2; is_outside++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        struct op small = op_make(OP_ALLOC);
        small.size_bytes = G;
        const uint32_t request = begin_call(small);
        const uint32_t move = begin_call(op_make(OP_DEFRAGMENT));
        script.act = is_outside != 0 ? copy_out_of_the_device : copy_inside_the_device;
        end_call(move);
        script.block = (struct target_block){2, 0, G};
        end_call(request);
        ck_assert_int_eq(rig.verdicts[request].rule, is_outside != 0 ? RULE_OUTSIDE : RULE_NONE);
        stop_lanes();
    }
}
END_TEST

/* While calls overlap only the image itself is in the way of its stack for certain. */
START_TEST(no_overlapping_load_gets_a_stack_that_nothing_leaves_room_for)
{
    for (uint64_t stack = 14; stack <= 15; stack++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        struct op pin = op_make(OP_TOUCH);
        pin.ref = 0;
        const uint32_t touch = begin_call(pin);
        struct op op = op_make(OP_LOAD);
        op.size_bytes = 2 * G;
        op.stack_bytes = stack * G;
        const uint32_t load = begin_call(op);
        script.block = (struct target_block){2, 0, 2 * G};
        end_call(load);
        end_call(touch);
        ck_assert_int_eq(rig.verdicts[load].rule, stack == 14 ? RULE_NONE : RULE_STATUS);
        stop_lanes();
    }
}
END_TEST

Suite *suite_of_overlap(void)
{
    Suite *suite = suite_create("overlap");
    TCase *tests = tcase_create("overlap");
    tcase_add_test(tests, a_call_under_way_may_have_pinned_its_block_already);
    tcase_add_test(tests, no_overlapping_call_copies_out_of_the_device);
    tcase_add_test(tests, no_overlapping_load_gets_a_stack_that_nothing_leaves_room_for);
    suite_add_tcase(suite, tests);
    return suite;
}
