/* When requests of several hosts are the same one, and when their answers may differ. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>

static struct op ask_spmd(uint8_t host, enum op_kind kind, uint64_t size)
{
    struct op op = op_make(kind);
    op.host = host;
    op.flags = OP_SPMD;
    op.size_bytes = size * G;
    script.block = (struct target_block){next_handle(), 0, size * G};
    return op;
}

/* Host 1 has a queued free that it does not await, so it is short of room where the first host is
 * not.  Its refusal is wrong in the round of the request that was granted, and in no other. */
START_TEST(a_request_that_differs_in_anything_begins_another_round)
{
    static const struct {
        enum op_kind first, second;
        uint64_t first_size, second_size;
        uint64_t first_stack, second_stack;
        uint8_t first_align, second_align;
        bool is_same;
    } rows[] = {
        {OP_ALLOC, OP_ALLOC, 16, 16, 0, 0, 0, 0, true},
        {OP_ALLOC, OP_OUTPUT, 16, 16, 0, 0, 0, 0, false},
        {OP_ALLOC, OP_ALLOC, 15, 16, 0, 0, 0, 0, false},
        {OP_ALLOC, OP_ALLOC, 16, 16, 0, 0, 9, 0, false},
        {OP_LOAD, OP_LOAD, 14, 14, 2, 2, 0, 0, true},
        {OP_LOAD, OP_LOAD, 14, 14, 1, 2, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.odd_host_does_not_drain = true;
        start_hosts(2);
        struct op op = op_make(OP_ALLOC);
        op.host = 1;
        op.size_bytes = G;
        script.block = (struct target_block){next_handle(), 8 * G, G};
        KEEPS(step(op));
        op = op_make(OP_FREE_AFTER);
        op.host = 1;
        op.ref = 0;
        op.delay_ns = 1000;
        KEEPS(step(op));
        op = ask_spmd(0, rows[i].first, rows[i].first_size);
        op.align_log2 = rows[i].first_align;
        op.stack_bytes = rows[i].first_stack * G;
        script.block.address = rows[i].first_stack * G;
        KEEPS(step(op));
        op = ask_spmd(1, rows[i].second, rows[i].second_size);
        op.align_log2 = rows[i].second_align;
        op.stack_bytes = rows[i].second_stack * G;
        script.result = TARGET_NO_MEMORY;
        const struct verdict *verdict = step(op);
        if (rows[i].is_same) {
            BREAKS(verdict, RULE_SPMD);
            ck_assert_str_eq(verdict->reason, "host 1 got a different answer from op 2, which is "
                                              "the same request");
        } else {
            JUDGED(verdict, VERDICT_JUSTIFIED);
        }
        stop();
    }
}
END_TEST

/* The answer is not that of the latest, whose sums did not decide. */
START_TEST(a_round_has_the_answer_of_the_first_for_which_sums_decide)
{
    prepare();
    script.odd_host_does_not_drain = true;
    start_hosts(3);
    struct op op = op_make(OP_ALLOC); /* held on host 2: sums do not decide there */
    op.host = 2;
    op.size_bytes = G;
    script.block = (struct target_block){next_handle(), 8 * G, G};
    KEEPS(step(op));
    op = op_make(OP_HOLD);
    op.host = 2;
    op.ref = 0;
    KEEPS(step(op));
    op = op_make(OP_ALLOC);
    op.host = 1;
    op.size_bytes = G;
    script.block = (struct target_block){next_handle(), 8 * G, G};
    KEEPS(step(op));
    op = op_make(OP_FREE_AFTER);
    op.host = 1;
    op.ref = 2;
    op.delay_ns = 1000;
    KEEPS(step(op));
    op = ask_spmd(2, OP_ALLOC, 16);
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(op), VERDICT_JUSTIFIED);
    KEEPS(step(ask_spmd(0, OP_ALLOC, 16))); /* other than the first, and right */
    op = ask_spmd(1, OP_ALLOC, 16);
    script.result = TARGET_NO_MEMORY;
    const struct verdict *verdict = step(op);
    BREAKS(verdict, RULE_SPMD);
    ck_assert_str_eq(verdict->reason,
                     "host 1 got a different answer from op 5, which is the same request");
    stop();
}
END_TEST

/* Host 1 has a block of four granules that moves, next to the queued free. */
START_TEST(sums_are_those_of_all_that_stays)
{
    for (uint64_t size = 12; size <= 13; size++) {
        prepare();
        script.odd_host_does_not_drain = true;
        start_hosts(2);
        static const struct target_block blocks[] = {{1, 0, 4 * G}, {2, 8 * G, G}};
        struct op op;
        for (int i = 0; i < 2; i++) {
            op = op_make(OP_ALLOC);
            op.host = 1;
            op.size_bytes = blocks[i].size_bytes;
            script.block = blocks[i];
            KEEPS(step(op));
        }
        op = op_make(OP_FREE_AFTER);
        op.host = 1;
        op.ref = 1;
        op.delay_ns = 1000;
        KEEPS(step(op));
        KEEPS(step(ask_spmd(0, OP_ALLOC, size)));
        op = ask_spmd(1, OP_ALLOC, size);
        script.result = TARGET_NO_MEMORY;
        const struct verdict *verdict = step(op);
        if (size == 12) {
            BREAKS(verdict, RULE_SPMD);
        } else {
            JUDGED(verdict, VERDICT_JUSTIFIED);
        }
        stop();
    }
}
END_TEST

/* Host 1 opens with another contract. */
static struct target uneven_target;
static struct target_contract odd_contract;
static enum target_result open_unevenly(const struct target_setup *setup,
                                        const struct device_services *services,
                                        struct target_instance **instance,
                                        struct target_contract *contract, char *reason,
                                        size_t reason_bytes)
{
    const enum target_result result = scripted_target.open(setup, services, instance, contract,
                                                           reason, reason_bytes);
    if (setup->coordinate[0] == 1) {
        *contract = odd_contract;
    }
    return result;
}

/* It has a block, or an idle program, of one granule in its middle: a request of 15 granules fits
 * once that is moved or evicted, which the first host promises for all of them. */
START_TEST(a_host_that_promises_less_than_the_first_is_the_odd_one)
{
    static const struct {
        bool moves, evicts, program_evicts; /* what host 1 promises */
        bool is_program;
        enum op_kind kind;
        uint64_t size;
    } rows[] = {
        {false, true, true, false, OP_ALLOC, 15},
        {true, false, true, true, OP_ALLOC, 16},
        {true, true, false, true, OP_LOAD, 16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char reason[RUN_REASON_BYTES] = "";
        struct setup setup;
        setup_init(&setup);
        setup.capacity_bytes = 16 * G;
        setup.host_count = 2;
        prepare();
        script.contract.program_evicts_program = true;
        odd_contract = script.contract;
        odd_contract.defrag = rows[i].moves ? DEFRAG_SLIDE : DEFRAG_NONE;
        odd_contract.evicts = rows[i].evicts;
        odd_contract.program_evicts_program = rows[i].program_evicts;
        uneven_target = scripted_target;
        uneven_target.open = open_unevenly;
        script.run = run_create(&uneven_target, &setup, reason);
        ck_assert_msg(script.run != NULL, "%s", reason);
        struct op op = op_make(rows[i].is_program ? OP_LOAD : OP_ALLOC);
        op.host = 1;
        op.size_bytes = G;
        script.block = (struct target_block){next_handle(), 8 * G, G};
        KEEPS(step(op));
        KEEPS(step(ask_spmd(0, rows[i].kind, rows[i].size)));
        op = ask_spmd(1, rows[i].kind, rows[i].size);
        script.result = TARGET_NO_MEMORY;
        BREAKS(step(op), RULE_SPMD);
        stop();
    }
}
END_TEST

/* A refusal that is premature, and one that no request can get, are findings of their own. */
START_TEST(an_answer_that_is_wrong_by_itself_is_held_against_no_other)
{
    static const struct {
        enum target_result result;
        enum rule rule;
    } rows[] = {{TARGET_NO_MEMORY, RULE_PREMATURE}, {TARGET_INVALID, RULE_STATUS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        start_hosts(2);
        run_go_on(script.run);
        KEEPS(step(ask_spmd(0, OP_ALLOC, 16)));
        const struct op op = ask_spmd(1, OP_ALLOC, 16);
        script.result = rows[i].result;
        ck_assert_int_eq(step(op)->rule, rows[i].rule);
        ck_assert(!run_is_broken(script.run));
        stop();
    }
}
END_TEST

/* Memory that went bad on any host may make a difference on all of them. */
START_TEST(hosts_may_differ_once_one_of_them_lost_memory)
{
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        prepare();
        script.odd_host_does_not_drain = true;
        start_hosts(3);
        struct op op = op_make(OP_ALLOC);
        op.host = 1;
        op.size_bytes = G;
        script.block = (struct target_block){next_handle(), 8 * G, G};
        KEEPS(step(op));
        op = op_make(OP_FREE_AFTER);
        op.host = 1;
        op.ref = 0;
        op.delay_ns = 1000;
        KEEPS(step(op));
        op = op_make(OP_RETIRE);
        op.host = 2;
        op.size_bytes = is_lost != 0 ? G : 0;
        KEEPS(step(op));
        KEEPS(step(ask_spmd(0, OP_ALLOC, 16)));
        op = ask_spmd(1, OP_ALLOC, 16);
        script.result = TARGET_NO_MEMORY;
        const struct verdict *verdict = step(op);
        if (is_lost != 0) {
            JUDGED(verdict, VERDICT_JUSTIFIED);
        } else {
            BREAKS(verdict, RULE_SPMD);
        }
        stop();
    }
}
END_TEST

static void evict_0(void)
{
    ck_assert_int_eq(script.device[0]->unload(script.device[0]->context, 0 + 1), DEVICE_OK);
}

/* Programs of four granules with a stack of eight, the first of which may be evicted; host 1 has a
 * block that moves, too, and a queued free in the way of the stack.  Image, stack and block come to
 * so much that they fit, or do not, whether the image is there or not. */
START_TEST(sums_of_an_execution_count_its_image_once)
{
    for (int is_evicted = 0; is_evicted < 2; is_evicted++) {
        for (uint64_t size = 4; size <= 5; size++) {
            prepare();
            script.odd_host_does_not_drain = true;
            start_hosts(2);
            struct op op = op_make(OP_LOAD);
            for (uint8_t host = 0; host < 2; host++) {
                op.host = host;
                op.size_bytes = 4 * G;
                op.stack_bytes = 8 * G;
                script.block = (struct target_block){next_handle(), 12 * G, 4 * G};
                KEEPS(step(op));
            }
            const struct target_block blocks[] = {{3, 7 * G, size * G}, {4, 0, G}};
            for (int i = 0; i < 2; i++) {
                op = op_make(OP_ALLOC);
                op.host = 1;
                op.size_bytes = blocks[i].size_bytes;
                script.block = blocks[i];
                KEEPS(step(op));
            }
            op = op_make(OP_FREE_AFTER);
            op.host = 1;
            op.ref = 3;
            op.delay_ns = 1000;
            KEEPS(step(op));
            if (is_evicted != 0) {
                script.act = evict_0;
                KEEPS(alloc_at(0, 1));
            }
            op = op_make(OP_EXECUTE);
            op.flags = OP_SPMD;
            op.ref = 0;
            script.block = (struct target_block){1, 12 * G, 4 * G};
            KEEPS(is_evicted != 0 ? on(OP_FREE, 5) : report());
            KEEPS(step(op));
            op.host = 1;
            op.ref = 1;
            script.result = TARGET_NO_MEMORY;
            const struct verdict *verdict = step(op);
            if (size == 4) {
                BREAKS(verdict, RULE_SPMD);
            } else {
                JUDGED(verdict, VERDICT_JUSTIFIED);
            }
            stop();
        }
    }
}
END_TEST

/* The last number of a group is as good as the first. */
START_TEST(every_number_names_a_group)
{
    for (uint32_t number = 0; number <= UINT16_MAX; number += UINT16_MAX) {
        prepare();
        script.odd_host_does_not_drain = true;
        start_hosts(2);
        struct op op = op_make(OP_ALLOC);
        op.host = 1;
        op.size_bytes = G;
        script.block = (struct target_block){next_handle(), 8 * G, G};
        KEEPS(step(op));
        op = op_make(OP_FREE_AFTER);
        op.host = 1;
        op.ref = 0;
        op.delay_ns = 1000;
        KEEPS(step(op));
        op = ask_spmd(0, OP_ALLOC, 16);
        op.group = (uint16_t)number;
        KEEPS(step(op));
        op = ask_spmd(1, OP_ALLOC, 16);
        op.group = (uint16_t)number;
        script.result = TARGET_NO_MEMORY;
        BREAKS(step(op), RULE_SPMD);
        stop();
    }
}
END_TEST

/* On host 1 block 1, of eight granules, goes to host memory for block 2, of two, which is moved
 * between its two halves.  No fault struck: what was refused is a wait while time was pinned. */
static void strand_on_1(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[1];
    ck_assert_int_eq(device->event_wait(device->context, 1 + 3), DEVICE_REFUSED);
    ck_assert_int_eq(device->stage_out(device->context, 0, 8 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(device->copy(device->context, 14 * G, 7 * G, 2 * G), DEVICE_OK);
    script.at[2].address = TARGET_ADDRESS_NONE;
    script.at[3].address = 7 * G;
}

static void start_with_absent_on_1(void)
{
    prepare();
    script.contract.defrag = DEFRAG_REPACK;
    start_hosts(2);
    KEEPS(alloc_at(0, 1));
    static const struct target_block blocks[] = {{2, 0, 8 * G}, {3, 14 * G, 2 * G}};
    struct op op;
    for (int i = 0; i < 2; i++) {
        op = op_make(OP_ALLOC);
        op.host = 1;
        op.size_bytes = blocks[i].size_bytes;
        script.block = blocks[i];
        KEEPS(step(op));
    }
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000)); /* the event of op 3 */
    op = op_make(OP_ALLOC);
    op.host = 1;
    op.size_bytes = 16 * G;
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(op), VERDICT_JUSTIFIED);
    op.flags = OP_RETRY;
    script.act = strand_on_1;
    script.result = TARGET_NO_MEMORY;
    KEEPS(step(op)); /* without a verdict */
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 1)), 1);
}

/* What is kept for a block in host memory no sum of this host shows. */
START_TEST(a_block_in_host_memory_keeps_sums_from_deciding)
{
    start_with_absent_on_1();
    struct op op = ask_spmd(0, OP_ALLOC, 10);
    script.block.address = 4 * G;
    KEEPS(step(op));
    op = ask_spmd(1, OP_ALLOC, 10);
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(op), VERDICT_JUSTIFIED);
    stop();
}
END_TEST

/* A use of it may fail on this host alone. */
START_TEST(a_use_of_a_block_in_host_memory_is_held_against_no_other)
{
    start_with_absent_on_1();
    KEEPS(alloc_at(8, 1));
    struct op op = op_make(OP_USE);
    op.flags = OP_SPMD;
    op.ref = (uint32_t)run_ops(script.run)->count - 1;
    op.delay_ns = 10;
    KEEPS(step(op));
    op.host = 1;
    op.ref = 1;
    script.result = TARGET_FAILED;
    KEEPS(step(op));
    ck_assert_uint_eq(run_observation(script.run)->skipped, 0);
    stop();
}
END_TEST

Suite *suite_of_rounds(void)
{
    Suite *suite = suite_create("rounds");
    TCase *tests = tcase_create("rounds");
    tcase_add_test(tests, a_request_that_differs_in_anything_begins_another_round);
    tcase_add_test(tests, a_round_has_the_answer_of_the_first_for_which_sums_decide);
    tcase_add_test(tests, sums_are_those_of_all_that_stays);
    tcase_add_test(tests, a_host_that_promises_less_than_the_first_is_the_odd_one);
    tcase_add_test(tests, an_answer_that_is_wrong_by_itself_is_held_against_no_other);
    tcase_add_test(tests, hosts_may_differ_once_one_of_them_lost_memory);
    tcase_add_test(tests, sums_of_an_execution_count_its_image_once);
    tcase_add_test(tests, every_number_names_a_group);
    tcase_add_test(tests, a_block_in_host_memory_keeps_sums_from_deciding);
    tcase_add_test(tests, a_use_of_a_block_in_host_memory_is_held_against_no_other);
    suite_add_tcase(suite, tests);
    return suite;
}
