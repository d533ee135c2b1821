/* Blocks whose contents the device does not take back: what is accepted of them, and what never is.
 */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Op 0 made the block [0, 2) with handle 1, op 1 the block [4, 6) with handle 2. */
static void start_with_two(enum defrag_contract defrag)
{
    prepare();
    script.contract.defrag = defrag;
    start_hosts(1);
    KEEPS(alloc_at(0, 2));
    KEEPS(alloc_at(4, 2));
}

/* The call-th copy or stage from now is refused. */
static void arm_copy(uint64_t call)
{
    struct op op = op_make(OP_FAULT);
    op.tag = FAULT_COPY;
    op.size_bytes = call;
    KEEPS(step(op));
}

static const struct verdict *defragment_with(void (*act)(void), enum target_result result)
{
    script.act = act;
    script.result = result;
    return step(op_make(OP_DEFRAGMENT));
}

static const struct verdict *use_with(void (*act)(void), uint32_t ref, enum target_result result)
{
    script.act = act;
    script.result = result;
    return on_for(OP_USE, ref, 1000);
}

/* --- what the target does --- */

static uint64_t stage;

static enum device_result stage_out(uint64_t from, uint64_t size)
{
    const struct device_services *device = script.device[0];
    return device->stage_out(device->context, from * G, size * G, &stage);
}

static enum device_result stage_in(uint64_t to)
{
    const struct device_services *device = script.device[0];
    return device->stage_in(device->context, stage, to * G);
}

static void stage_drop(void)
{
    script.device[0]->stage_drop(script.device[0]->context, stage);
}

static void lose_address(void)
{
    script.at[1].address = TARGET_ADDRESS_NONE;
}

static void overwrite_0(void)
{
    ck_assert_int_eq(copy(4, 0, 2), DEVICE_OK);
    script.at[2].address = 0;
}

/* Block 0 leaves for block 1 and cannot come back. */
static void strand_0(void)
{
    ck_assert_int_eq(stage_out(0, 2), DEVICE_OK);
    overwrite_0();
    ck_assert_int_eq(stage_in(4), DEVICE_REFUSED);
    lose_address();
}

/* The same although it could. */
static void keep_0_away(void)
{
    ck_assert_int_eq(stage_out(0, 2), DEVICE_OK);
    overwrite_0();
    lose_address();
}

static void strand_0_and_drop_it(void)
{
    strand_0();
    stage_drop();
}

/* What is in host memory is the other block. */
static void stage_1_and_lose_0(void)
{
    ck_assert_int_eq(stage_out(4, 2), DEVICE_OK);
    overwrite_0();
    ck_assert_int_eq(stage_in(8), DEVICE_REFUSED);
    lose_address();
}

/* What is in host memory is the first half alone. */
static void strand_half_of_0(void)
{
    ck_assert_int_eq(stage_out(0, 1), DEVICE_OK);
    overwrite_0();
    ck_assert_int_eq(stage_in(4), DEVICE_REFUSED);
    lose_address();
}

static void stage_0_and_leave_it(void)
{
    ck_assert_int_eq(stage_out(0, 2), DEVICE_OK);
}

static void return_0_to(uint64_t at)
{
    ck_assert_int_eq(stage_in(at), DEVICE_OK);
    script.at[1].address = at * G;
}
static void return_0_to_8(void)
{
    return_0_to(8);
}
static void return_0_onto_1(void)
{
    return_0_to(1);
}
static void return_0_unseen(void)
{
    ck_assert_int_eq(stage_in(8), DEVICE_OK);
    script.at[1].address = 12 * G;
}
static void say_0_is_back(void)
{
    script.at[1].address = 8 * G;
}
static void return_0_into_the_stack(void)
{
    return_0_to(3);
}
static void return_0_beside_its_alignment(void)
{
    ck_assert_int_eq(script.device[0]->stage_in(script.device[0]->context, stage, 8 * G + 8),
                     DEVICE_OK);
    script.at[1].address = 8 * G + 8;
}
static void refuse_to_return_0(void)
{
    ck_assert_int_eq(stage_in(8), DEVICE_REFUSED);
}
static void say_0_is_back_after_a_refusal(void)
{
    refuse_to_return_0();
    say_0_is_back();
}

/* The next call of the target asks for block 0 back in vain. */
static void refuse_next_return(void)
{
    arm_copy(1);
    script.act = refuse_to_return_0;
}

/* As strand_0, for a block 1 of one granule. */
static void strand_0_for_less(void)
{
    ck_assert_int_eq(stage_out(0, 2), DEVICE_OK);
    ck_assert_int_eq(copy(4, 0, 1), DEVICE_OK);
    script.at[2].address = 0;
    ck_assert_int_eq(stage_in(4), DEVICE_REFUSED);
    lose_address();
}

/* Block 0 is absent; block 1 lies at [0, 1), block 2 at [2, 4), block 3 at [5, 16): a granule is
 * free at 1, and one at 4. */
static void strand_without_room(void)
{
    KEEPS(alloc_at(4, 1));
    KEEPS(alloc_at(2, 2));
    KEEPS(alloc_at(5, 11));
    arm_copy(3);
    KEEPS(defragment_with(strand_0_for_less, TARGET_FAILED));
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 1);
}

static void start_stranded_without_room(void)
{
    prepare();
    script.contract.defrag = DEFRAG_REPACK;
    start_hosts(1);
    KEEPS(alloc_at(0, 2));
    strand_without_room();
}

/* Block 0 is absent, block 1 lies at [0, 2). */
static void start_stranded(void)
{
    start_with_two(DEFRAG_REPACK);
    arm_copy(3);
    KEEPS(defragment_with(strand_0, TARGET_FAILED));
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 1);
}

/* --- going, staying, coming back --- */

TEST(a_block_that_the_device_does_not_take_back_counts_and_has_no_address)
{
    start_stranded();
    const struct model *model = run_model(script.run, 0);
    ck_assert_uint_eq(model_in_use_bytes(model), 4 * G);
    ck_assert_uint_eq(model_counters(model)->block_count, 2);
    ck_assert_uint_eq(model_live_count(model), 2);
    KEEPS(on(OP_TOUCH, 0));
    KEEPS(on(OP_TOUCH, 1));
    KEEPS(report());
    refuse_next_return();
    KEEPS(alloc_at(4, 2)); /* where it was to go is free */
    KEEPS(defragment_with(return_0_to_8, TARGET_OK));
    ck_assert_uint_eq(model_absent_count(model), 0);
    KEEPS(on(OP_TOUCH, 0));
    KEEPS(report());
    KEEPS(use_with(NULL, 0, TARGET_OK));
    ck_assert(model_invariants_hold(model));
    KEEPS(run_finish(script.run));
    stop();
}

TEST(only_a_refused_return_leaves_a_block_in_host_memory)
{
    const struct {
        void (*act)(void);
        uint64_t refused_call; /* 0: none is */
        enum defrag_contract defrag;
        bool is_held;
        enum rule rule;
    } rows[] = {
        {strand_0, 3, DEFRAG_REPACK, false, RULE_NONE},
        {strand_0, 3, DEFRAG_REPACK, true, RULE_HELD_MOVED},
        {strand_0, 3, DEFRAG_SLIDE, false, RULE_MOVED_UNASKED},
        {keep_0_away, 0, DEFRAG_REPACK, false, RULE_MOVED_UNASKED},
        {lose_address, 0, DEFRAG_REPACK, false, RULE_MOVED_UNASKED},
        {strand_0_and_drop_it, 3, DEFRAG_REPACK, false, RULE_CONTENTS},
        {stage_1_and_lose_0, 3, DEFRAG_REPACK, false, RULE_CONTENTS},
        {strand_half_of_0, 3, DEFRAG_REPACK, false, RULE_CONTENTS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with_two(rows[i].defrag);
        if (rows[i].is_held) {
            KEEPS(on(OP_HOLD, 0));
        }
        if (rows[i].refused_call != 0) {
            arm_copy(rows[i].refused_call);
        }
        const struct verdict *verdict = defragment_with(
            rows[i].act, rows[i].refused_call != 0 ? TARGET_FAILED : TARGET_OK);
        ck_assert_msg(verdict->rule == rows[i].rule || rows[i].act == lose_address, "row %zu: %s",
                      i, verdict->reason);
        if (rows[i].act == lose_address) { /* no call shows it: asking does */
            BREAKS(on(OP_TOUCH, 0), rows[i].rule);
        }
        stop();
    }
}

TEST(what_comes_back_has_a_place_of_its_own_and_its_contents)
{
    const struct {
        void (*act)(void);
        enum rule rule;
    } rows[] = {
        {return_0_to_8, RULE_NONE},
        {return_0_onto_1, RULE_OVERLAP},
        {return_0_unseen, RULE_CONTENTS},
        {return_0_into_the_stack, RULE_OVERLAP},
        {stage_drop, RULE_CONTENTS},
        {return_0_beside_its_alignment, RULE_MISALIGNED},
        {say_0_is_back_after_a_refusal, RULE_MOVED_UNASKED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_stranded();
        if (rows[i].act == return_0_into_the_stack) {
            refuse_next_return();
            KEEPS(on(OP_FREE, 1));
            refuse_next_return();
            KEEPS(load_at(14, 1, 4));
            const uint32_t load = (uint32_t)run_ops(script.run)->count - 1;
            refuse_next_return();
            KEEPS(execute(load, 1000));
        }
        if (rows[i].act == say_0_is_back_after_a_refusal) {
            arm_copy(1);
        }
        (void)defragment_with(rows[i].act, TARGET_OK);
        const struct verdict *verdict = on(OP_TOUCH, 0);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s", i, verdict->reason);
        stop();
    }
}

/* A call that failed shows it as well as one that is asked, though nothing is read back then. */
TEST(nothing_comes_back_without_a_copy)
{
    start_stranded();
    BREAKS(use_with(say_0_is_back, 0, TARGET_FAILED), RULE_MOVED_UNASKED);
    stop();
    start_stranded();
    script.at[1].address = 8 * G;
    BREAKS(report(), RULE_MOVED_UNASKED);
    stop();
}

TEST(what_is_in_host_memory_is_neither_used_nor_donated_nor_executed)
{
    const enum op_kind kinds[] = {OP_USE, OP_DONATE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (int fails = 0; fails < 2; fails++) {
            start_stranded_without_room();
            struct op op = op_make(kinds[i]);
            op.ref = 0;
            op.size_bytes = kinds[i] == OP_DONATE ? G : 0;
            op.delay_ns = kinds[i] == OP_USE ? 1000 : 0;
            script.block = script.at[1];
            script.result = fails ? TARGET_FAILED : TARGET_OK;
            if (fails) {
                KEEPS(step(op));
            } else {
                BREAKS(step(op), RULE_STATUS);
            }
            stop();
        }
    }
    start_stranded_without_room();
    BREAKS(use_with(NULL, 1, TARGET_FAILED), RULE_STATUS); /* another block: no excuse */
    stop();
    start_stranded();
    BREAKS(use_with(return_0_to_8, 0, TARGET_FAILED), RULE_STATUS); /* it is back */
    stop();
    start_with_two(DEFRAG_REPACK);
    KEEPS(defragment_with(stage_0_and_leave_it, TARGET_OK));
    BREAKS(use_with(NULL, 0, TARGET_FAILED), RULE_STATUS); /* it has a stage, but an address, too */
    stop();
    start_stranded();
    script.message = "";
    BREAKS(use_with(NULL, 0, TARGET_FAILED), RULE_MESSAGE);
    stop();
}

/* The image of a program, handle 1, is at [0, 2). */
TEST(an_image_in_host_memory_waits_for_its_return)
{
    for (int returns = 0; returns < 2; returns++) {
        prepare();
        script.contract.defrag = DEFRAG_REPACK;
        start_hosts(1);
        KEEPS(load_at(0, 2, 0));
        strand_without_room();
        script.result = TARGET_FAILED;
        KEEPS(execute(0, 1000));
        if (returns) {
            KEEPS(on(OP_FREE, 3));
            KEEPS(defragment_with(return_0_to_8, TARGET_OK));
            KEEPS(execute(0, 1000));
        } else {
            BREAKS(execute(0, 1000), RULE_STATUS);
        }
        stop();
    }
}

/* --- ends --- */

TEST(an_absent_block_is_freed_like_any_other)
{
    start_stranded();
    script.act = stage_drop;
    KEEPS(on(OP_FREE, 0));
    const struct model *model = run_model(script.run, 0);
    ck_assert_uint_eq(model_absent_count(model), 0);
    ck_assert_uint_eq(model_in_use_bytes(model), 2 * G);
    ck_assert_uint_eq(model_hole_count(model), 1);
    ck_assert(model_invariants_hold(model));
    KEEPS(report());
    KEEPS(run_finish(script.run));
    stop();
}

TEST(a_run_ends_with_what_is_still_in_host_memory)
{
    start_stranded();
    script.act = stage_drop;
    KEEPS(run_finish(script.run));
    ck_assert(script.is_closed);
    ck_assert_uint_eq(model_in_use_bytes(run_model(script.run, 0)), 0);
    stop();
}

/* Nobody can ask where a freed block is: its bytes are followed. */
TEST(a_dying_block_that_comes_back_takes_room_until_it_goes)
{
    start_stranded();
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
    const uint32_t event = (uint32_t)run_ops(script.run)->count - 1;
    KEEPS(report());
    KEEPS(alloc_at(8, 2));
    KEEPS(on(OP_FREE, (uint32_t)run_ops(script.run)->count - 1));
    KEEPS(defragment_with(return_0_to_8, TARGET_OK));
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 0);
    KEEPS(report());
    BREAKS(alloc_at(9, 2), RULE_REUSED_EARLY);
    stop();

    start_stranded();
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
    KEEPS(complete(event));
    KEEPS(alloc_at(8, 2));
    KEEPS(report());
    stop();
}

static void move_1_to_8(void)
{
    ck_assert_int_eq(copy(0, 8, 2), DEVICE_OK);
    ck_assert_int_eq(stage_in(12), DEVICE_REFUSED);
    script.at[2] = (struct target_block){2, TARGET_ADDRESS_NONE, 2 * G}; /* the handle has ended */
}

TEST(a_block_is_followed_when_the_op_that_moves_it_frees_it)
{
    start_stranded();
    arm_copy(2);
    script.act = move_1_to_8;
    KEEPS(on_for(OP_FREE_AFTER, 1, 1000));
    refuse_next_return();
    KEEPS(alloc_at(0, 2));
    BREAKS(alloc_at(8, 1), RULE_REUSED_EARLY);
    stop();

    start_stranded(); /* not when it was in use before */
    refuse_next_return();
    KEEPS(on_for(OP_USE, 1, 1000));
    arm_copy(2);
    script.act = move_1_to_8;
    BREAKS(on_for(OP_FREE_AFTER, 1, 1000), RULE_HELD_MOVED);
    stop();
}

static void move_0_then_await_its_use(void)
{
    ck_assert_int_eq(copy(0, 8, 2), DEVICE_OK);
    wait_for(3);
    lose_address(); /* the handle has ended */
}

static void await_its_use_then_move_0(void)
{
    wait_for(3);
    ck_assert_int_eq(copy(0, 8, 2), DEVICE_OK);
    lose_address();
}

static void bring_the_stage_of_0_to_8(void)
{
    ck_assert_int_eq(stage_in(8), DEVICE_OK);
    lose_address();
}

/* Nobody can ask where the block went: its bytes say it, also where its use is over when the op
 * returns, and where what was taken out of it earlier is brought to another place. */
TEST(a_block_in_use_is_not_moved_by_the_op_that_frees_it)
{
    const struct {
        void (*act)(void);
        enum op_kind kind;
        enum rule rule;
    } rows[] = {
        {move_0_then_await_its_use, OP_FREE, RULE_HELD_MOVED},
        {move_0_then_await_its_use, OP_FREE_AFTER, RULE_HELD_MOVED},
        {await_its_use_then_move_0, OP_FREE, RULE_NONE},
        {await_its_use_then_move_0, OP_FREE_AFTER, RULE_NONE},
        {bring_the_stage_of_0_to_8, OP_FREE, RULE_HELD_MOVED},
        {bring_the_stage_of_0_to_8, OP_FREE_AFTER, RULE_HELD_MOVED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with_two(DEFRAG_REPACK);
        const bool is_staged = rows[i].act == bring_the_stage_of_0_to_8;
        KEEPS(is_staged ? defragment_with(stage_0_and_leave_it, TARGET_OK) : report());
        KEEPS(on_for(OP_USE, 0, 1000)); /* op 3 */
        script.act = rows[i].act;
        const struct verdict *verdict = on_for(rows[i].kind, 0, 5000);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s", i, verdict->reason);
        stop();
    }
}

/* --- answers that nobody can judge --- */

TEST(an_out_of_memory_with_a_refused_return_is_counted_and_not_judged)
{
    start_stranded();
    refuse_next_return();
    KEEPS(refuse(1));
    ck_assert_uint_eq(run_totals(script.run)->excused, 1);
    ck_assert_uint_eq(run_totals(script.run)->ooms, 1);
    ck_assert_uint_eq(run_totals(script.run)->justified, 0);
    KEEPS(defragment_with(return_0_to_8, TARGET_OK));
    JUDGED(refuse(1), VERDICT_PREMATURE);
    ck_assert_uint_eq(run_totals(script.run)->excused, 1);
    stop();

    start_stranded();
    script.message = "";
    refuse_next_return();
    BREAKS(refuse(1), RULE_MESSAGE);
    ck_assert_uint_eq(run_totals(script.run)->excused, 1);
    stop();
}

/* Two granules are free in two pieces.  A third one makes room for a request of one granule and for
 * block 0, if what lies between can move. */
TEST(an_out_of_memory_leaves_room_for_what_is_in_host_memory)
{
    const struct {
        bool has_third, is_held;
        uint64_t size;
        enum verdict_kind verdict;
    } rows[] = {
        {false, false, 1, VERDICT_JUSTIFIED},
        {true, false, 1, VERDICT_PREMATURE},
        {true, true, 1, VERDICT_JUSTIFIED},
        {true, false, 2, VERDICT_JUSTIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.defrag = DEFRAG_REPACK;
        start_hosts(1);
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(4, 1));
        KEEPS(alloc_at(2, 2));
        KEEPS(alloc_at(5, rows[i].has_third ? 10 : 11));
        arm_copy(3);
        KEEPS(defragment_with(strand_0_for_less, TARGET_FAILED));
        for (uint32_t block = 1; rows[i].is_held && block <= 3; block++) {
            KEEPS(on(OP_HOLD, block));
        }
        const struct verdict *verdict = refuse(rows[i].size);
        ck_assert_msg(verdict->kind == rows[i].verdict, "row %zu: %s", i, verdict->reason);
        ck_assert_uint_eq(run_totals(script.run)->excused, 0);
        stop();
    }
}

/* Nobody may say for ever that a device refused once. */
TEST(one_refused_return_is_no_excuse_for_ever)
{
    start_stranded();
    JUDGED(refuse(1), VERDICT_PREMATURE);
    stop();
}

/* --- the first call that the device grants --- */

TEST(a_block_for_which_there_is_room_is_back_after_a_call)
{
    const enum op_kind kinds[] = {OP_DEFRAGMENT, OP_HOLD, OP_FREE, OP_USE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        start_stranded();
        KEEPS(report());
        KEEPS(on(OP_TOUCH, 0));
        refuse_next_return();
        KEEPS(on_for(OP_USE, 1, 5));
        const struct verdict *verdict = on_for(kinds[i], 1, 1000);
        ck_assert_msg(verdict->rule == RULE_MOVED_UNASKED, "row %zu: %s", i, verdict->reason);
        ck_assert_ptr_nonnull(strstr(verdict->reason, "is still in host memory"));
        stop();
    }
}

/* There is room from the op after the one that made it on. */
TEST(a_block_without_room_stays_in_host_memory)
{
    for (int returns = 0; returns < 2; returns++) {
        start_stranded_without_room();
        KEEPS(use_with(NULL, 0, TARGET_FAILED)); /* nothing was refused in this op */
        KEEPS(on(OP_HOLD, 1));
        KEEPS(on(OP_FREE, 3));
        if (returns) {
            KEEPS(defragment_with(return_0_to_8, TARGET_OK));
        } else {
            BREAKS(defragment_with(NULL, TARGET_OK), RULE_MOVED_UNASKED);
        }
        stop();
    }
}

/* Block 0 needs a multiple of eight granules: one of two holes of two granules is no room for it.
 */
TEST(room_for_a_block_is_aligned_as_the_block_is)
{
    for (uint64_t hole = 6; hole <= 8; hole += 2) {
        prepare();
        script.contract.defrag = DEFRAG_REPACK;
        start_hosts(1);
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = 2 * G;
        op.align_log2 = 12;
        script.block = (struct target_block){1, 0, 2 * G};
        KEEPS(step(op));
        KEEPS(alloc_at(4, 1));
        KEEPS(alloc_at(2, 2));
        KEEPS(alloc_at(5, hole - 5));
        KEEPS(alloc_at(hole + 2, 14 - hole));
        arm_copy(3);
        KEEPS(defragment_with(strand_0_for_less, TARGET_FAILED));
        const struct verdict *verdict = on(OP_HOLD, 1);
        ck_assert_int_eq(verdict->rule, hole == 8 ? RULE_MOVED_UNASKED : RULE_NONE);
        stop();
    }
}

TEST(the_largest_hole_is_not_compared_while_a_block_is_absent)
{
    start_stranded();
    script.stats_more.largest_free_block_bytes = G;
    KEEPS(report());
    KEEPS(defragment_with(return_0_to_8, TARGET_OK));
    BREAKS(report(), RULE_COUNTERS);
    stop();
    start_stranded();
    script.stats_more.bytes_in_use = G;
    BREAKS(report(), RULE_COUNTERS);
    stop();
}

TEST(the_report_has_a_row_without_an_address_for_each_absent_block)
{
    const struct target_row present = {0, 2 * G, BLOCK_BUFFER, 0};
    const struct target_row absent = {TARGET_ADDRESS_NONE, 2 * G, BLOCK_BUFFER, 0};
    struct target_row at_its_old_place = absent;
    struct target_row too_small = absent;
    struct target_row of_another_tag = absent;
    at_its_old_place.address = 4 * G;
    too_small.size_bytes = G;
    of_another_tag.tag = 1;
    const struct {
        struct target_row rows[3];
        int count;
        bool is_right;
    } tables[] = {
        {{absent, present}, 2, true},
        {{present, absent}, 2, true},
        {{present}, 1, false},
        {{absent, absent}, 2, false},
        {{present, at_its_old_place}, 2, false},
        {{present, too_small}, 2, false},
        {{present, of_another_tag}, 2, false},
        {{present, absent, absent}, 3, false},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        start_stranded();
        memcpy(script.rows, tables[i].rows, sizeof tables[i].rows);
        script.row_count = tables[i].count;
        const struct verdict *verdict = report();
        ck_assert_msg(verdict->rule == (tables[i].is_right ? RULE_NONE : RULE_REPORT),
                      "table %zu: %s", i, verdict->reason);
        stop();
    }
}

TEST(no_memory_is_retired_while_a_block_is_absent)
{
    start_stranded();
    struct op op = op_make(OP_RETIRE);
    op.address = 12 * G;
    op.size_bytes = G;
    KEEPS(step(op));
    ck_assert_int_eq(script.retire_calls, 0);
    KEEPS(defragment_with(return_0_to_8, TARGET_OK));
    KEEPS(step(op));
    ck_assert_int_eq(script.retire_calls, 1);
    stop();
}

/* Block 1 leaves [0, 2) though a hole fits the request. */
static void move_1_needlessly(void)
{
    ck_assert_int_eq(copy(0, 12, 2), DEVICE_OK);
    script.at[2].address = 12 * G;
}

static void move_1_to_4_needlessly(void)
{
    ck_assert_int_eq(copy(0, 4, 1), DEVICE_OK);
    script.at[2].address = 4 * G;
}

static void move_1_needlessly_and_return_0(void)
{
    move_1_needlessly();
    return_0_to(8);
}

TEST(no_regret_is_counted_while_a_block_is_absent)
{
    start_stranded();
    script.act = move_1_needlessly_and_return_0; /* the state before has no place for it */
    KEEPS(alloc_at(4, 1));
    ck_assert_uint_eq(run_totals(script.run)->regretted, 0);
    stop();
    start_stranded_without_room();
    script.act = move_1_to_4_needlessly;
    KEEPS(alloc_at(1, 1));
    ck_assert_uint_eq(run_totals(script.run)->regretted, 0);
    stop();
    start_stranded();
    KEEPS(defragment_with(return_0_to_8, TARGET_OK));
    script.act = move_1_needlessly;
    KEEPS(alloc_at(4, 1));
    ck_assert_uint_eq(run_totals(script.run)->regretted, 1);
    stop();
}

TEST(a_refused_return_changes_nothing)
{
    start_stranded();
    arm_copy(1);
    KEEPS(use_with(refuse_to_return_0, 0, TARGET_FAILED));
    KEEPS(on(OP_TOUCH, 0));
    KEEPS(report());
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 1);
    stop();
}
