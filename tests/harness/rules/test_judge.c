/* Each rule fires when it should and not on the legal neighbour: a scripted target answers what the
 * test says. */
#include "harness/model/model.h"
#include "harness/model/model_update.h"
#include "harness/rules/private/families.h"
#include "harness/run/run.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- new blocks --- */

TEST(a_new_block_is_whole_inside_aligned_and_disjoint)
{
    const struct {
        struct target_block block;
        enum rule rule;
    } rows[] = {
        {{9, 4 * G, 2 * G}, RULE_NONE},           {{9, 0, 2 * G}, RULE_NONE},
        {{9, 14 * G, 2 * G}, RULE_NONE},          {{9, 4 * G, 3 * G}, RULE_TOO_LARGE},
        {{0, 4 * G, 2 * G}, RULE_HANDLE},         {{9, 4 * G, G}, RULE_TOO_SMALL},
        {{9, 15 * G, 2 * G}, RULE_OUTSIDE},       {{9, UINT64_MAX - G + 1, 2 * G}, RULE_OUTSIDE},
        {{9, 4 * G, UINT64_MAX}, RULE_OUTSIDE},   {{9, 4 * G + 1, 2 * G}, RULE_MISALIGNED},
        {{9, 4 * G, 2 * G + 1}, RULE_MISALIGNED}, {{9, 3 * G, 2 * G}, RULE_MISALIGNED},
        {{9, 8 * G, 2 * G}, RULE_OVERLAP},        {{9, 6 * G, 4 * G}, RULE_OVERLAP},
        {{9, 10 * G, 2 * G}, RULE_OVERLAP},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(alloc_at(8, 4));
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = 2 * G;
        op.align_log2 = 10;
        script.block = rows[i].block;
        const struct verdict *verdict = step(op);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

TEST(a_queued_free_keeps_its_place_until_its_event)
{
    start();
    KEEPS(alloc_at(0, 2));
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
    KEEPS(complete(1));
    KEEPS(alloc_at(0, 2));
    KEEPS(on_for(OP_USE, 3, 1000));
    KEEPS(on(OP_HOLD, 3));
    KEEPS(on(OP_FREE, 3));
    KEEPS(complete(4));
    BREAKS(alloc_at(1, 1), RULE_REUSED_EARLY);
    stop();
}

/* --- moves --- */

static void move_0_to_4(void)
{
    (void)copy(0, 4, 2);
    script.at[1].address = 4 * G;
}
static void move_0_to_4_then_wait_1(void)
{
    move_0_to_4();
    wait_for(1);
}
static void wait_1_then_move_0_to_4(void)
{
    wait_for(1);
    move_0_to_4();
}
static void wait_2_then_move_0_to_4(void)
{
    wait_for(2);
    move_0_to_4();
}
static void move_0_to_4_then_wait_2(void)
{
    move_0_to_4();
    wait_for(2);
}
static void claim_0_at_4(void)
{
    script.at[1].address = 4 * G;
}
static void tear_0_to_4(void)
{
    (void)copy(0, 4, 1);
    script.at[1].address = 4 * G;
}
static void slide_0_to_1(void)
{
    (void)copy(0, 1, 2);
    script.at[1].address = G;
}
static void swap_0_and_4(void)
{
    const struct device_services *device = script.device[0];
    uint64_t stage = 0;
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage), DEVICE_OK);
    (void)copy(4, 0, 2);
    ck_assert_int_eq(device->stage_in(device->context, stage, 4 * G), DEVICE_OK);
    script.at[1].address = 4 * G;
    script.at[2].address = 0;
}
static void move_0_to_8(void)
{
    (void)copy(0, 8, 2);
    script.at[1].address = 8 * G;
}

static void defragment_with(void (*act)(void))
{
    script.act = act;
}

TEST(blocks_move_by_whole_copies_only)
{
    start();
    KEEPS(alloc_at(0, 2));
    defragment_with(move_0_to_4);
    KEEPS(step(op_make(OP_DEFRAGMENT)));
    KEEPS(on(OP_TOUCH, 0));
    stop();
    start();
    KEEPS(alloc_at(0, 2));
    defragment_with(slide_0_to_1); /* from and to overlap */
    KEEPS(step(op_make(OP_DEFRAGMENT)));
    stop();
    start();
    KEEPS(alloc_at(0, 2));
    defragment_with(tear_0_to_4);
    BREAKS(step(op_make(OP_DEFRAGMENT)), RULE_CONTENTS);
    stop();
    start();
    KEEPS(alloc_at(0, 2));
    KEEPS(arm(FAULT_COPY)); /* the copy is lost, the target goes on as if nothing was */
    defragment_with(move_0_to_4);
    KEEPS(step(op_make(OP_DEFRAGMENT)));
    BREAKS(on(OP_TOUCH, 0), RULE_MOVED_UNASKED);
    stop();
    start();
    KEEPS(alloc_at(0, 2));
    defragment_with(claim_0_at_4);
    KEEPS(step(op_make(OP_DEFRAGMENT)));
    BREAKS(report(), RULE_MOVED_UNASKED);
    stop();
    start();
    KEEPS(alloc_at(0, 2));
    defragment_with(claim_0_at_4);
    BREAKS(refuse(16), RULE_FAILED_CHANGED);
    stop();
}

TEST(a_copy_may_lose_the_rest_of_the_last_granule)
{
    prepare();
    script.contract.rounding.kind = ROUNDING_ANY;
    start_hosts(1);
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = G;
    script.block = (struct target_block){1, 0, 2 * G};
    KEEPS(step(op));
    defragment_with(tear_0_to_4);
    KEEPS(step(op_make(OP_DEFRAGMENT)));
    stop();
}

TEST(the_contract_says_what_moves)
{
    prepare();
    script.contract.defrag = DEFRAG_NONE;
    start_hosts(1);
    KEEPS(alloc_at(0, 2));
    defragment_with(move_0_to_4);
    BREAKS(refuse(16), RULE_MOVED_UNASKED);
    stop();
    for (int repack = 0; repack < 2; repack++) {
        prepare();
        script.contract.defrag = repack ? DEFRAG_REPACK : DEFRAG_SLIDE;
        start_hosts(1);
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(4, 2));
        defragment_with(swap_0_and_4);
        if (repack) {
            KEEPS(step(op_make(OP_DEFRAGMENT)));
        } else {
            BREAKS(step(op_make(OP_DEFRAGMENT)), RULE_MOVED_UNASKED);
        }
        stop();
    }
}

TEST(a_block_in_use_moves_only_after_its_use)
{
    void (*const acts[])(void) = {wait_1_then_move_0_to_4, move_0_to_4, move_0_to_4_then_wait_1};
    for (int i = 0; i < 3; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        KEEPS(on_for(OP_USE, 0, 1000));
        defragment_with(acts[i]);
        if (i == 0) {
            KEEPS(step(op_make(OP_DEFRAGMENT)));
        } else {
            BREAKS(step(op_make(OP_DEFRAGMENT)), RULE_HELD_MOVED);
        }
        stop();
    }
}

TEST(a_copy_over_a_queued_free_awaits_it_first)
{
    void (*const acts[])(void) = {wait_2_then_move_0_to_4, move_0_to_4_then_wait_2};
    for (int i = 0; i < 2; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(4, 2));
        KEEPS(on_for(OP_FREE_AFTER, 1, 1000));
        defragment_with(acts[i]);
        if (i == 0) {
            KEEPS(step(op_make(OP_DEFRAGMENT)));
            /* The slot of the block that went is used again at once. */
            KEEPS(alloc_at(0, 2));
            KEEPS(on(OP_TOUCH, 0));
            KEEPS(on(OP_TOUCH, 4));
        } else {
            BREAKS(step(op_make(OP_DEFRAGMENT)), RULE_REUSED_EARLY);
        }
        stop();
    }
}

TEST(blocks_do_not_move_onto_blocks)
{
    start();
    KEEPS(alloc_at(0, 2));
    KEEPS(alloc_at(8, 2));
    defragment_with(move_0_to_8);
    BREAKS(step(op_make(OP_DEFRAGMENT)), RULE_OVERLAP);
    stop();
}

static void move_8_to_4(void)
{
    (void)copy(8, 4, 2);
    script.at[1].address = 4 * G;
}

TEST(a_move_ends_above_the_stack)
{
    for (uint64_t stack = 4; stack <= 5; stack++) {
        start();
        KEEPS(alloc_at(8, 2));
        KEEPS(load_at(12, 1, stack));
        KEEPS(execute(1, 1000));
        defragment_with(move_8_to_4);
        if (stack == 4) {
            KEEPS(step(op_make(OP_DEFRAGMENT)));
        } else {
            BREAKS(step(op_make(OP_DEFRAGMENT)), RULE_OVERLAP);
        }
        stop();
    }
}

/* --- programs --- */

static void unload_0(void)
{
    (void)unload(0);
}
static void unload_0_twice(void)
{
    (void)unload(0);
    (void)unload(0);
}
static void wait_1_then_unload_0(void)
{
    wait_for(1);
    (void)unload(0);
}
static void unload_7(void)
{
    (void)unload(7);
}

TEST(only_idle_loaded_programs_are_evicted_and_only_for_who_may)
{
    start();
    KEEPS(load_at(4, 2, 1));
    script.act = unload_0;
    KEEPS(alloc_at(4, 2)); /* onto the place of what was evicted in the same call */
    script.block = (struct target_block){1, 8 * G, 2 * G};
    KEEPS(on_for(OP_EXECUTE, 0, 10)); /* loaded again */
    script.act = unload_0;
    BREAKS(refuse(16), RULE_BUSY_EVICTED);
    stop();
    start();
    KEEPS(load_at(4, 2, 1));
    KEEPS(execute(0, 1000));
    script.act = wait_1_then_unload_0;
    KEEPS(alloc_at(4, 2));
    stop();
    start();
    KEEPS(load_at(4, 2, 1));
    script.act = unload_0_twice;
    BREAKS(alloc_at(4, 2), RULE_WRONG_EVICTION);
    stop();
    start();
    KEEPS(load_at(4, 2, 1));
    script.act = unload_7;
    BREAKS(alloc_at(6, 2), RULE_WRONG_EVICTION);
    stop();
    for (int may = 0; may < 2; may++) {
        prepare();
        script.contract.program_evicts_program = may == 1;
        start_hosts(1);
        KEEPS(load_at(4, 2, 1));
        script.act = unload_0;
        if (may) {
            KEEPS(load_at(4, 2, 1));
        } else {
            BREAKS(load_at(4, 2, 1), RULE_WRONG_EVICTION);
        }
        stop();
    }
    prepare();
    script.contract.program_evicts_program = true;
    start_hosts(1);
    KEEPS(load_at(4, 2, 1));
    script.act = unload_0;
    BREAKS(execute(0, 10), RULE_WRONG_EVICTION);
    stop();
}

TEST(a_loaded_program_can_have_its_stack)
{
    start();
    KEEPS(alloc_at(0, 2)); /* can be pushed up */
    KEEPS(load_at(8, 2, 12));
    stop();
    start();
    KEEPS(alloc_at(0, 2));
    BREAKS(load_at(8, 2, 13), RULE_STATUS);
    stop();
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(on(OP_HOLD, 0));
    KEEPS(load_at(8, 2, 4));
    KEEPS(execute(2, 1000));
    KEEPS(load_at(10, 2, 4));
    BREAKS(load_at(12, 2, 5), RULE_STATUS);
    stop();
    start();
    KEEPS(alloc_at(0, 2));
    KEEPS(load_at(8, 2, 1));
    BREAKS(execute(1, 1000), RULE_OVERLAP);
    stop();
}

/* --- answers --- */

TEST(each_request_gets_the_result_it_deserves)
{
    const struct {
        enum op_kind kind;
        uint64_t size_bytes, stack_bytes;
        enum target_result result;
        bool is_right;
    } rows[] = {
        {OP_ALLOC, 0, 0, TARGET_INVALID, true},
        {OP_ALLOC, 0, 0, TARGET_OK, false},
        {OP_ALLOC, 0, 0, TARGET_NO_MEMORY, false},
        {OP_ALLOC, UINT64_C(1) << 63, 0, TARGET_NO_MEMORY, true},
        {OP_ALLOC, UINT64_C(1) << 63, 0, TARGET_INVALID, false},
        {OP_ALLOC, (UINT64_C(1) << 63) + 1, 0, TARGET_INVALID, true},
        {OP_ALLOC, UINT64_MAX, 0, TARGET_NO_MEMORY, false},
        {OP_ALLOC, G, 0, TARGET_FAILED, false},
        {OP_ALLOC, G, 0, (enum target_result)9, false},
        {OP_LOAD, 0, 0, TARGET_INVALID, true},
        {OP_LOAD, G, UINT64_C(1) << 63, TARGET_NO_MEMORY, true},
        {OP_LOAD, UINT64_C(1) << 63, UINT64_C(1) << 63, TARGET_NO_MEMORY, true},
        {OP_LOAD, G, (UINT64_C(1) << 63) + 1, TARGET_NO_MEMORY, false},
        {OP_LOAD, G, UINT64_MAX, TARGET_INVALID, true},
        {OP_DEFRAGMENT, 0, 0, TARGET_NO_MEMORY, false},
        {OP_DEFRAGMENT, 0, 0, TARGET_INVALID, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        struct op op = op_make(rows[i].kind);
        op.size_bytes = rows[i].size_bytes;
        op.stack_bytes = rows[i].stack_bytes;
        script.result = rows[i].result;
        script.block = (struct target_block){1, 0, G};
        const struct verdict *verdict = step(op);
        const bool is_right = verdict->rule == RULE_NONE;
        ck_assert_msg(is_right == rows[i].is_right && (is_right || verdict->rule == RULE_STATUS),
                      "row %zu: %s", i, verdict->reason);
        stop();
    }
}

TEST(counters_are_exact)
{
    const struct target_stats more[] = {
        {.num_allocs = 1},
        {.bytes_in_use = G},
        {.peak_bytes_in_use = G},
        {.peak_bytes_in_use = (uint64_t)-G},
        {.largest_alloc_size = G},
        {.bytes_limit = (uint64_t)-G},
        {.bytes_reserved = G},
        {.peak_bytes_reserved = G},
        {.largest_free_block_bytes = (uint64_t)-G},
    };
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        start();
        KEEPS(alloc_at(4, 2));
        KEEPS(report());
        script.stats_more = more[i];
        BREAKS(report(), RULE_COUNTERS);
        stop();
    }
}

TEST(the_report_names_each_block_once_largest_first)
{
    const struct target_row a = {0, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row b = {4 * G, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row c = {8 * G, G, BLOCK_BUFFER, 0};
    struct target_row c_kind = c;
    struct target_row c_tag = c;
    struct target_row c_inside = c;
    struct target_row c_size = c;
    c_kind.kind = BLOCK_OUTPUT;
    c_tag.tag = 1;
    c_inside.address = UINT64_MAX;
    c_size.size_bytes = 2 * G;
    const struct {
        struct target_row rows[4];
        int count;
        bool is_right;
    } tables[] = {
        {{a, b, c}, 3, true},       {{b, a, c}, 3, true},      {{a, a, c}, 3, false},
        {{a, b}, 2, false},         {{a, b, c, c}, 4, false},  {{c, a, b}, 3, false},
        {{a, b, c_kind}, 3, false}, {{a, b, c_tag}, 3, false}, {{a, b, c_inside}, 3, false},
        {{a, b, c_size}, 3, false}, {{{0}}, 0, false},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        start();
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(4, 2));
        KEEPS(alloc_at(8, 1));
        memcpy(script.rows, tables[i].rows, sizeof tables[i].rows);
        script.row_count = tables[i].count;
        const struct verdict *verdict = report();
        ck_assert_msg(verdict->rule == (tables[i].is_right ? RULE_NONE : RULE_REPORT),
                      "table %zu: %s", i, verdict->reason);
        stop();
    }
    start();
    script.row_count = 0;
    KEEPS(report());
    script.rows[0] = a;
    script.row_count = 1;
    BREAKS(report(), RULE_REPORT);
    stop();
}

/* A target that says where its blocks are would be caught earlier: one handle cannot be in two
 * places. */
TEST(two_things_do_not_share_a_handle)
{
    for (int shares = 0; shares < 2; shares++) {
        prepare();
        script.contract.defrag = DEFRAG_NONE;
        script.is_silent = true;
        start_hosts(1);
        KEEPS(alloc_at(0, 2));
        if (!shares) {
            KEEPS(on(OP_FREE, 0)); /* the handle is free again */
        }
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = 2 * G;
        script.block = (struct target_block){1, 4 * G, 2 * G};
        KEEPS(step(op));
        if (shares) {
            BREAKS(report(), RULE_HANDLE);
        } else {
            KEEPS(report());
        }
        stop();
    }
}

TEST(a_donation_stays_where_its_input_was)
{
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(on_for(OP_USE, 0, 1000));
    struct op op = op_make(OP_DONATE);
    op.ref = 0;
    op.size_bytes = G;
    script.block = (struct target_block){3, 4 * G, 2 * G};
    KEEPS(step(op));
    KEEPS(on(OP_FREE, 2)); /* waits for the use of the input */
    JUDGED(refuse(15), VERDICT_PREMATURE);
    stop();
    start();
    KEEPS(alloc_at(4, 2));
    op.ref = 0;
    script.block = (struct target_block){3, 6 * G, 2 * G};
    BREAKS(step(op), RULE_MOVED_UNASKED);
    stop();
}

/* --- out of memory --- */

static void refused_copy(void)
{
    ck_assert_int_eq(copy(4, 0, 2), DEVICE_REFUSED);
}

TEST(an_oom_is_judged_after_every_mitigation)
{
    start();
    KEEPS(alloc_at(4, 2));
    JUDGED(refuse(15), VERDICT_JUSTIFIED);
    JUDGED(refuse(14), VERDICT_PREMATURE);
    stop();
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(on(OP_HOLD, 0));
    JUDGED(refuse(11), VERDICT_JUSTIFIED);
    KEEPS(on_for(OP_FREE_AFTER, 0, 5));
    JUDGED(refuse(11), VERDICT_JUSTIFIED); /* held still */
    KEEPS(on(OP_RELEASE, 0));
    JUDGED(refuse(16), VERDICT_PREMATURE);
    stop();
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(on_for(OP_FREE_AFTER, 0, DELAY_NEVER));
    JUDGED(refuse(11), VERDICT_JUSTIFIED);
    JUDGED(refuse(10), VERDICT_PREMATURE);
    stop();
    /* An armed fault excuses the op in which it fires, no other. */
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(arm(FAULT_COPY));
    script.act = refused_copy;
    JUDGED(refuse(14), VERDICT_JUSTIFIED);
    JUDGED(refuse(14), VERDICT_PREMATURE);
    stop();
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(arm(FAULT_WAIT));
    JUDGED(refuse(14), VERDICT_PREMATURE);
    stop();
}

/* A pending event that is due at time 0 is due later than "nothing is awaited". */
TEST(a_collective_without_duration_is_over_at_once)
{
    prepare();
    script.contract.drains = false;
    start_hosts(2);
    for (uint8_t host = 0; host < 2; host++) {
        struct op op = op_make(OP_LOAD);
        op.size_bytes = 2 * G;
        op.host = host;
        script.block = (struct target_block){next_handle(), 8 * G, 2 * G};
        KEEPS(step(op));
    }
    for (uint8_t host = 0; host < 2; host++) {
        struct op op = op_make(OP_EXECUTE);
        op.ref = host;
        op.host = host;
        op.flags = OP_COLLECTIVE;
        script.block = script.at[host + 1];
        KEEPS(step(op));
    }
    ck_assert_uint_eq(model_event_count(run_model(script.run, 0)), 0);
    ck_assert_uint_eq(model_busy_count(run_model(script.run, 0)), 0);
    stop();
}

/* --- hosts --- */

TEST(an_event_of_one_host_ends_waits_on_another)
{
    prepare();
    start_hosts(2);
    KEEPS(alloc_at(0, 2));
    KEEPS(on_for(OP_USE, 0, 1000)); /* the event of op 1 */
    struct op op = op_make(OP_ALLOC);
    op.host = 1;
    op.size_bytes = 2 * G;
    script.block = (struct target_block){3, 0, 2 * G};
    KEEPS(step(op));
    op = op_make(OP_FREE_AFTER);
    op.host = 1;
    op.ref = 2;
    op.event = 1;
    KEEPS(step(op));
    ck_assert_uint_eq(model_dying_count(run_model(script.run, 1)), 1);
    KEEPS(complete(1));
    ck_assert_uint_eq(model_dying_count(run_model(script.run, 1)), 0);
    KEEPS(on(OP_FREE, 0));
    KEEPS(run_finish(script.run));
    stop();
}

/* Events that complete during another host's op may still be counted by this one when it places a
 * block. */
TEST(a_peak_may_include_what_completed_on_another_hosts_turn)
{
    for (uint64_t more = 2; more <= 3; more++) {
        prepare();
        start_hosts(2);
        struct op op = op_make(OP_ALLOC);
        op.host = 1;
        op.size_bytes = 2 * G;
        script.block = (struct target_block){1, 0, 2 * G};
        KEEPS(step(op));
        op = op_make(OP_FREE_AFTER);
        op.host = 1;
        op.ref = 0;
        op.delay_ns = 10;
        KEEPS(step(op));
        op = op_make(OP_ADVANCE); /* on host 0 */
        op.delay_ns = 10;
        KEEPS(step(op));
        op = op_make(OP_ALLOC);
        op.host = 1;
        op.size_bytes = 3 * G;
        script.block = (struct target_block){4, 4 * G, 3 * G};
        script.stats_more.peak_bytes_in_use = more * G;
        if (more == 2) {
            KEEPS(step(op));
        } else {
            BREAKS(step(op), RULE_COUNTERS);
        }
        stop();
    }
}

TEST(a_granule_that_makes_no_sense_is_refused, .to = 3)
{
    static const uint64_t granules[] = {0, 3, UINT64_C(1) << 31};
    char reason[RUN_REASON_BYTES] = "";
    struct setup setup;
    setup_init(&setup);
    setup.capacity_bytes = UINT64_C(1) << 32;
    prepare();
    script.contract.granule_bytes = granules[_i];
    ck_assert_ptr_null(run_create(&scripted_target, &setup, reason));
    ck_assert_ptr_nonnull(strstr(reason, "its granule is not a power of two up to 1 GiB"));
}

static void refused_copy_on_host_1(void)
{
    ck_assert_int_eq(script.device[1]->copy(script.device[1]->context, 0, G, G), DEVICE_REFUSED);
}

static struct op spmd_alloc(uint8_t host, uint64_t size)
{
    struct op op = op_make(OP_ALLOC);
    op.host = host;
    op.flags = OP_SPMD;
    op.group = 7;
    op.size_bytes = size * G;
    script.block = (struct target_block){next_handle(), 0, size * G};
    return op;
}

/* A block on host 1 that is gone once somebody waits; host 1 does not, though host 0 would. */
static void fill_host_1_until_it_drains(void)
{
    prepare();
    script.odd_host_does_not_drain = true;
    start_hosts(2);
    struct op op = op_make(OP_ALLOC);
    op.host = 1;
    op.size_bytes = 8 * G;
    script.block = (struct target_block){next_handle(), 4 * G, 8 * G};
    KEEPS(step(op));
    op = op_make(OP_FREE_AFTER);
    op.host = 1;
    op.ref = 0;
    op.delay_ns = 1000;
    KEEPS(step(op));
}

TEST(the_same_request_gets_the_same_answer_on_every_host)
{
    fill_host_1_until_it_drains();
    const struct op other = spmd_alloc(0, 17); /* not the same request */
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(other), VERDICT_JUSTIFIED);
    KEEPS(step(spmd_alloc(0, 16)));
    KEEPS(on(OP_FREE, 3));
    KEEPS(step(spmd_alloc(0, 16))); /* a second turn begins another round */
    const struct op op = spmd_alloc(1, 16);
    script.result = TARGET_NO_MEMORY;
    BREAKS(step(op), RULE_SPMD);
    stop();
    /* What stays and may not move makes the answer depend on where it is. */
    fill_host_1_until_it_drains();
    struct op held = op_make(OP_ALLOC);
    held.host = 1;
    held.size_bytes = G;
    script.block = (struct target_block){next_handle(), 0, G};
    KEEPS(step(held));
    held = op_make(OP_HOLD);
    held.host = 1;
    held.ref = 2;
    KEEPS(step(held));
    KEEPS(step(spmd_alloc(0, 16)));
    const struct op excused = spmd_alloc(1, 16);
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(excused), VERDICT_JUSTIFIED);
    stop();
    /* So does what one host has and the other has not, once it is more than sums can do without. */
    prepare();
    start_hosts(2);
    KEEPS(alloc_at(0, 1));
    KEEPS(step(spmd_alloc(1, 16)));
    const struct op full = spmd_alloc(0, 16);
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(full), VERDICT_JUSTIFIED);
    stop();
    prepare();
    start_hosts(2);
    KEEPS(step(spmd_alloc(0, 16)));
    KEEPS(on(OP_FREE, 0));
    struct op fault = op_make(OP_FAULT);
    fault.host = 1;
    fault.tag = FAULT_COPY;
    fault.size_bytes = 1;
    KEEPS(step(fault));
    const struct op failed = spmd_alloc(1, 16);
    script.act = refused_copy_on_host_1;
    script.result = TARGET_FAILED; /* its device refused */
    KEEPS(step(failed));
    stop();
}

/* --- targets that do not queue frees --- */

TEST(a_deferred_free_is_made_once_when_nothing_keeps_the_block)
{
    prepare();
    script.contract = (struct target_contract){.granule_bytes = G, .programs = true};
    start_hosts(1);
    KEEPS(alloc_at(1, 1));         /* 0 */
    KEEPS(alloc_at(2, 1));         /* 1 */
    KEEPS(alloc_at(3, 1));         /* 2 */
    KEEPS(load_at(8, 1, 1));       /* 3 */
    KEEPS(execute(3, 1000));       /* 4 */
    KEEPS(on_for(OP_USE, 0, 100)); /* 5 */
    KEEPS(on(OP_HOLD, 1));         /* 6 */
    KEEPS(on(OP_FREE, 0));
    KEEPS(on(OP_FREE, 1));
    KEEPS(on_for(OP_FREE_AFTER, 2, 0)); /* its event is done already */
    KEEPS(on(OP_UNLOAD, 3));
    ck_assert_int_eq(script.free_calls[1], 0);
    ck_assert_int_eq(script.free_calls[2], 0);
    ck_assert_int_eq(script.free_calls[3], 1);
    KEEPS(complete(5));
    ck_assert_int_eq(script.free_calls[1], 1);
    KEEPS(on(OP_RELEASE, 1));
    ck_assert_int_eq(script.free_calls[2], 1);
    KEEPS(complete(4));
    ck_assert_int_eq(script.free_calls[4], 0); /* the program's: unload() has told the target */
    KEEPS(alloc_at(0, 1));
    KEEPS(on_for(OP_USE, 14, DELAY_NEVER));
    KEEPS(on(OP_HOLD, 14));
    KEEPS(on(OP_FREE, 14));
    KEEPS(run_finish(script.run));
    ck_assert_int_eq(script.free_calls[15], 1);
    ck_assert(script.is_closed);
    stop();
    for (int handle = 1; handle < 4; handle++) {
        ck_assert_int_eq(script.free_calls[handle], 1);
    }
}

TEST(a_target_that_cannot_have_queued_frees_cannot_promise_to_drain_them)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    prepare();
    script.contract = (struct target_contract){.granule_bytes = G, .drains = true};
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    ck_assert_ptr_null(run_create(&scripted_target, &setup, reason));
    ck_assert_ptr_nonnull(strstr(reason, "queued frees"));
}

/* --- the end --- */

TEST(a_run_ends_well_whatever_is_left)
{
    start();
    KEEPS(load_at(4, 2, 1)); /* evicted */
    script.act = unload_0;
    KEEPS(alloc_at(4, 2));
    KEEPS(load_at(8, 2, 1)); /* busy for ever */
    KEEPS(execute(2, DELAY_NEVER));
    KEEPS(load_at(10, 2, 1)); /* unloaded while busy */
    KEEPS(execute(4, DELAY_NEVER));
    KEEPS(on(OP_UNLOAD, 4));
    KEEPS(alloc_at(12, 1)); /* dying, held twice */
    KEEPS(on(OP_HOLD, 7));
    KEEPS(on(OP_HOLD, 7));
    KEEPS(on_for(OP_FREE_AFTER, 7, DELAY_NEVER));
    KEEPS(on(OP_HOLD, 1)); /* live and held */
    KEEPS(run_finish(script.run));
    stop();
    start();
    KEEPS(alloc_at(4, 2));
    KEEPS(on(OP_FREE, 0));
    script.stats_more.largest_free_block_bytes = (uint64_t)-G;
    BREAKS(run_finish(script.run), RULE_NOT_COALESCED);
    stop();
    start();
    void *leak = script.device[0]->host_alloc(script.device[0]->context, 8);
    ck_assert_ptr_nonnull(leak);
    BREAKS(run_finish(script.run), RULE_HOST_MEMORY);
    stop();
}

/* --- messages --- */

static const struct message_expected buffer_text = {
    .requested_bytes = 8 << 20, .free_bytes = 6 << 20, .largest_hole_bytes = 3 << 20};
static const struct message_expected stack_text = {.is_program = true,
                                                   .stack_bytes = 8 << 20,
                                                   .free_bytes = 6 << 20,
                                                   .reservable_low_bytes = 1 << 20,
                                                   .reservable_high_bytes = 5 << 20};
#define ALLOC "Attempting to allocate 8.00M. That was not possible. There are 6.00M free."
#define RESERVE \
    "Attempting to reserve 8.00M at the bottom of memory. That was not possible. There are 6.00M free, 0B "
#define LOADING "RESOURCE_EXHAUSTED: Error loading program"

TEST(messages_follow_the_grammar_to_the_letter)
{
    const struct {
        const struct message_expected *expected;
        const char *text;
        bool is_right;
    } rows[] = {
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC, true},
        {&buffer_text, "RESOURCE_EXHAUSTED: Error allocating device buffer: " ALLOC, true},
        {&buffer_text, "RESOURCE_EXHAUSTED: E0100: RuntimeBufferAllocationFailure:\n" ALLOC, true},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "; (0x0x0_HBM0)", true},
        {&buffer_text,
         "RESOURCE_EXHAUSTED: " ALLOC
         " Due to fragmentation, the largest contiguous region of free "
         "memory is 3.00M.",
         true},
        {&buffer_text,
         "RESOURCE_EXHAUSTED: " ALLOC
         " Due to fragmentation, the largest contiguous region of free "
         "memory is 3.01M.",
         false},
        {&buffer_text, "RESOURCE_EXHAUSTED: E0101: RuntimeProgramAllocationFailure:\n" ALLOC,
         false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "; (0x0x0_HBM)", false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "; ( 0x-1x0_HBM0)", false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC ";(0x0x0_HBM0)", false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "; (0x0x0_HBM0) ", false},
        {&buffer_text, "RESOURCE_EXHAUSTED: " ALLOC "\n", false},
        {&buffer_text, " RESOURCE_EXHAUSTED: " ALLOC, false},
        {&buffer_text, "Resource exhausted: " ALLOC, false},
        {&buffer_text,
         "RESOURCE_EXHAUSTED: Attempting to allocate 8M. That was not possible. There are 6.00M free.",
         false},
        {&buffer_text,
         "RESOURCE_EXHAUSTED: Attempting to allocate 8.00M. That was not possible. There are 6.01M free.",
         false},
        {&buffer_text, "", false},
        {&buffer_text, LOADING ": " ALLOC, false},
        {&stack_text, LOADING ": " RESERVE "reserved, and 3.00M reservable.", true},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 3.00M reservable.", true},
        {&stack_text, LOADING " 'a: Attempting to b': " RESERVE "reserved, and 3.00M reservable.",
         true},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 1.00M reservable.", true},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 5.00M reservable.", true},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 5.02M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 0.98M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and nanM reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and  3.00M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and +3.00M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 0x3M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 3e0M reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and 3.00 reservable.", false},
        {&stack_text, LOADING " 'jit_f': " RESERVE "reserved, and reservable.", false},
        {&stack_text, LOADING " 'jit_f' " RESERVE "reserved, and 3.00M reservable.", false},
        {&stack_text, LOADING " of mine: " RESERVE "reserved, and 3.00M reservable.", false},
        /* Nothing was to be allocated. */
        {&stack_text,
         LOADING ": Attempting to allocate 0B. That was not possible. There are 6.00M free.",
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char reason[160] = "";
        const char *lacking = NULL;
        ck_assert_msg(message_is_right(rows[i].text, rows[i].expected, &lacking, reason,
                                       sizeof reason) == rows[i].is_right,
                      "row %zu: %s", i, reason);
    }
    struct message_expected fragmented = buffer_text;
    char reason[160];
    fragmented.has_fragmentation = true;
    const char *lacking = NULL;
    ck_assert(!message_is_right("RESOURCE_EXHAUSTED: " ALLOC, &fragmented, &lacking, reason,
                                sizeof reason));
}

/* --- rows --- */

TEST(rules_of_one_judge_share_it_and_the_first_broken_one_stays)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct judge judge = {.verdict = &verdict, .asked = RULE_WRONG_EVICTION};
    const struct rule_evidence evidence = {.judge = &judge};
    ck_assert(!evidence_break(&evidence, RULE_BUSY_EVICTED, "program %d", 3));
    ck_assert(!evidence_break(&evidence, RULE_WRONG_EVICTION, "later"));
    ck_assert_int_eq(verdict.kind, VERDICT_BROKEN);
    ck_assert_int_eq(verdict.rule, RULE_BUSY_EVICTED);
    ck_assert_str_eq(verdict.reason, "program 3");
}

/* Otherwise the totals would miss an out-of-memory. */
TEST(a_rule_that_breaks_beside_an_out_of_memory_leaves_its_verdict)
{
    static const enum verdict_kind kinds[] = {VERDICT_JUSTIFIED, VERDICT_UNKNOWN, VERDICT_NONE};
    for (size_t i = 0; i < 3; i++) {
        struct verdict verdict = {.kind = kinds[i], .op = 5};
        struct judge judge = {.verdict = &verdict, .asked = RULE_WRONG_EVICTION};
        const struct rule_evidence evidence = {.judge = &judge};
        ck_assert(!evidence_break(&evidence, RULE_BUSY_EVICTED, "program %d", 3));
        ck_assert_int_eq(verdict.kind, VERDICT_BROKEN);
        ck_assert_int_eq(judge.hides_oom, kinds[i] != VERDICT_NONE);
        ck_assert_int_eq(judge.oom_verdict.kind, kinds[i]);
    }
}

TEST(an_error_text_lacks_numbers_or_words)
{
    static const struct {
        const char *text, *lacking;
    } rows[] = {
        {"RESOURCE_EXHAUSTED: Attempting to allocate 9.00M. That was not possible. There are 6.00M free.",
         "numbers"},
        {"RESOURCE_EXHAUSTED: Attempting to allocate 8.00M. That was not possible. There are 6.01M free.",
         "numbers"},
        {"RESOURCE_EXHAUSTED: Attempting to allocate 8.00M. That was possible. There are 6.00M free.",
         "words"},
        {"Resource exhausted: " ALLOC, "words"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char reason[160] = "";
        const char *lacking = NULL;
        ck_assert(!message_is_right(rows[i].text, &buffer_text, &lacking, reason, sizeof reason));
        ck_assert_msg(strcmp(lacking, rows[i].lacking) == 0, "row %zu: %s: %s", i, lacking, reason);
    }
}

/* Ends the process, for the row names another judge. */
TEST(a_rule_is_broken_by_the_judge_of_its_row_alone, .signal = SIGABRT)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct judge judge = {.verdict = &verdict, .asked = RULE_OVERLAP};
    (void)evidence_break(&(const struct rule_evidence){.judge = &judge}, RULE_OUTSIDE, "elsewhere");
}

TEST(a_call_alone_and_calls_that_overlap_have_one_judge_of_evictions)
{
    static const char *const reasons[] = {
        "evicted program 7, which is not loaded",
        "evicted program 7, which is not loaded, or no call may evict"};
    for (int overlapping = 0; overlapping < 2; overlapping++) {
        struct verdict verdict = {.kind = VERDICT_NONE};
        struct judge judge = {.verdict = &verdict, .is_overlapping = overlapping != 0};
        const struct rule_evidence evidence = {
            .judge = &judge, .op = 7, .slot = SLOT_NONE, .may_evict = true};
        ck_assert(!rule_judge(RULE_WRONG_EVICTION, &evidence));
        ck_assert_int_eq(verdict.rule, RULE_WRONG_EVICTION);
        ck_assert_str_eq(verdict.reason, reasons[overlapping]);
    }
}
