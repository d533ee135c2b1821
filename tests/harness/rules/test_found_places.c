/* Where blocks are found after a call: what the target says, where their bytes went, and what stays
 * in host memory. */
#include "harness/run/run_state.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
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

static void overwrite_0(void)
{
    ck_assert_int_eq(copy(4, 0, 2), DEVICE_OK);
    script.at[2].address = 0;
}

static void move_0_to_8(void)
{
    ck_assert_int_eq(copy(0, 8, 2), DEVICE_OK);
}

static void move_0_to_8_for_1(void)
{
    move_0_to_8();
    overwrite_0();
}

/* Block 0 leaves for block 1 and cannot come back. */
static void strand_0(void)
{
    ck_assert_int_eq(stage_out(0, 2), DEVICE_OK);
    overwrite_0();
    ck_assert_int_eq(stage_in(4), DEVICE_REFUSED);
    script.at[1].address = TARGET_ADDRESS_NONE;
}

static void refuse_return(void)
{
    ck_assert_int_eq(stage_in(8), DEVICE_REFUSED);
}

/* Block 0 is absent, block 1 lies at [0, 2). */
static void start_stranded(void)
{
    start_with_two(DEFRAG_REPACK);
    arm_copy(3);
    KEEPS(defragment_with(strand_0, TARGET_FAILED));
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 1);
}

/* --- what a call has ended --- */

/* The target cannot be asked any more where the block of the call is, whose event is not done: it
 * is where its bytes are.  What is held, or in use, does not move even then. */
TEST(what_a_call_freed_is_where_its_bytes_went_in_that_call)
{
    const struct {
        enum op_kind before, kind;
        void (*act)(void);
        uint64_t refused_call, at;
        enum rule rule;
    } rows[] = {
        {OP_TOUCH, OP_FREE_AFTER, NULL, 0, 0, RULE_NONE},
        {OP_TOUCH, OP_FREE_AFTER, move_0_to_8, 0, 8, RULE_NONE},
        {OP_TOUCH, OP_FREE_AFTER, move_0_to_8_for_1, 0, 8, RULE_NONE},
        {OP_TOUCH, OP_FREE_AFTER, overwrite_0, 0, 0, RULE_OVERLAP},
        {OP_TOUCH, OP_FREE_AFTER, strand_0, 3, TARGET_ADDRESS_NONE, RULE_NONE},
        {OP_HOLD, OP_FREE, NULL, 0, 0, RULE_NONE},
        {OP_HOLD, OP_FREE, move_0_to_8, 0, 8, RULE_HELD_MOVED},
        {OP_USE, OP_FREE, move_0_to_8, 0, 8, RULE_HELD_MOVED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with_two(DEFRAG_REPACK);
        KEEPS(on_for(rows[i].before, 0, rows[i].before == OP_USE ? 1000 : 0));
        if (rows[i].refused_call > 0) {
            arm_copy(rows[i].refused_call);
        }
        script.act = rows[i].act;
        const struct verdict *verdict = on_for(rows[i].kind, 0,
                                               rows[i].kind == OP_FREE_AFTER ? 1000 : 0);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        const struct model *model = run_model(script.run, 0);
        const bool is_absent = rows[i].at == TARGET_ADDRESS_NONE;
        ck_assert_uint_eq(model_absent_count(model), is_absent);
        if (rows[i].rule == RULE_NONE && !is_absent) {
            ck_assert_uint_eq(model_dying(model, 0)->address, rows[i].at * G);
        }
        stop();
    }
}

/* Of a block that it cannot be asked about the target says no size either. */
TEST(a_call_that_failed_changed_nothing_that_was_freed_before)
{
    start_with_two(DEFRAG_REPACK);
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
    JUDGED(refuse(16), VERDICT_JUSTIFIED);
    stop();
}

static void move_1_to_8(void)
{
    ck_assert_int_eq(copy(4, 8, 2), DEVICE_OK);
    script.at[2].address = 8 * G;
}

/* The image of a program that is busy stays until it is done, and does not move. */
TEST(what_was_unloaded_while_it_was_busy_is_where_it_was)
{
    const struct {
        void (*act)(void);
        enum rule rule;
    } rows[] = {{move_1_to_8, RULE_NONE}, {move_0_to_8, RULE_HELD_MOVED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare();
        script.contract.defrag = DEFRAG_REPACK;
        start_hosts(1);
        KEEPS(load_at(0, 2, 0));
        KEEPS(alloc_at(4, 2));
        KEEPS(execute(0, 1000));
        script.act = rows[i].act;
        const struct verdict *verdict = on(OP_UNLOAD, 0);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        if (verdict->rule == RULE_NONE) {
            BREAKS(alloc_at(1, 1), RULE_REUSED_EARLY);
        }
        stop();
    }
}

static void return_to_8_and_copy(void)
{
    ck_assert_int_eq(stage_in(8), DEVICE_OK);
    ck_assert_int_eq(copy(8, 12, 2), DEVICE_OK);
}

/* A block that was freed while it was in host memory may come back for its events, but stays where
 * it came to. */
TEST(what_was_freed_before_comes_back_once)
{
    start_stranded();
    arm_copy(1);
    script.act = refuse_return;
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
    KEEPS(defragment_with(return_to_8_and_copy, TARGET_OK));
    const struct model *model = run_model(script.run, 0);
    ck_assert_uint_eq(model_absent_count(model), 0);
    ck_assert_uint_eq(model_dying(model, 0)->address, 8 * G);
    KEEPS(report());
    BREAKS(alloc_at(9, 1), RULE_REUSED_EARLY);
    stop();
}

static void drop_and_move_1(void)
{
    stage_drop();
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
    script.at[2].address = 4 * G;
}

/* A stage holds the block alone: without it the contents are lost, whether the target can still be
 * asked for it or not. */
TEST(what_is_in_host_memory_is_lost_with_its_stage)
{
    for (int is_freed = 0; is_freed < 2; is_freed++) {
        start_stranded();
        if (is_freed != 0) {
            arm_copy(1);
            script.act = refuse_return;
            KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
        }
        BREAKS(defragment_with(drop_and_move_1, TARGET_OK), RULE_CONTENTS);
        stop();
    }
}

/* --- what the target says --- */

static void move_1_and_end_0(void)
{
    move_1_to_8();
    script.at[1].address = TARGET_ADDRESS_NONE;
}

static void fail_to_move_1(void)
{
    ck_assert_int_eq(copy(4, 8, 2), DEVICE_REFUSED);
}

/* After a donation the block has the handle of the output, unless it failed. */
TEST(a_donated_block_is_asked_for_by_its_new_handle)
{
    for (int fails = 0; fails < 2; fails++) {
        start_with_two(DEFRAG_REPACK);
        struct op op = op_make(OP_DONATE);
        op.ref = 0;
        op.size_bytes = 2 * G;
        if (fails != 0) {
            arm_copy(1);
            script.result = TARGET_FAILED;
        }
        script.act = fails != 0 ? fail_to_move_1 : move_1_and_end_0;
        script.block = (struct target_block){9, 0, 2 * G};
        KEEPS(step(op));
        ck_assert_uint_eq(model_find(run_model(script.run, 0), 0) == NULL, fails == 0);
        stop();
    }
}

/* A target that moves nothing need not say where its blocks are. */
TEST(without_locate_blocks_are_where_they_were)
{
    struct target mute = scripted_target;
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    mute.locate = NULL;
    prepare();
    script.contract.defrag = DEFRAG_NONE;
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    setup.host_count = 1;
    script.run = run_create(&mute, &setup, reason);
    ck_assert_ptr_nonnull(script.run);
    KEEPS(alloc_at(0, 2));
    KEEPS(on(OP_TOUCH, 0));
    KEEPS(report());
    script.act = NULL;
    KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
    KEEPS(report());
    BREAKS(alloc_at(1, 1), RULE_REUSED_EARLY);
    stop();
}

static void say_0_is_elsewhere(void)
{
    move_1_to_8();
    script.at[1].address = 12 * G;
}

static void say_0_is_outside(void)
{
    move_1_to_8();
    script.at[1].address = 15 * G;
}

/* Something else was copied; of this block the target alone says that it moved. */
TEST(a_place_that_the_target_says_is_held_against_the_rules)
{
    const struct {
        enum op_kind before;
        void (*act)(void);
        enum rule rule;
    } rows[] = {
        {OP_TOUCH, move_1_to_8, RULE_NONE},
        {OP_TOUCH, say_0_is_elsewhere, RULE_CONTENTS},
        {OP_HOLD, say_0_is_elsewhere, RULE_HELD_MOVED},
        {OP_TOUCH, say_0_is_outside, RULE_OUTSIDE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_with_two(DEFRAG_REPACK);
        KEEPS(on(rows[i].before, 0));
        const struct verdict *verdict = defragment_with(rows[i].act, TARGET_OK);
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop();
    }
}

static void move_0_past_1(void)
{
    move_0_to_8();
    script.at[1].address = 8 * G;
}

/* The lower one moves, and the other is where it was. */
TEST(blocks_that_slide_keep_their_order)
{
    for (int is_repack = 0; is_repack < 2; is_repack++) {
        start_with_two(is_repack != 0 ? DEFRAG_REPACK : DEFRAG_SLIDE);
        const struct verdict *verdict = defragment_with(move_0_past_1, TARGET_OK);
        ck_assert_int_eq(verdict->rule, is_repack != 0 ? RULE_NONE : RULE_MOVED_UNASKED);
        stop();
    }
}

/* Nothing was called since, so nothing else looks at what the block holds. */
TEST(a_touch_finds_what_was_overwritten_between_calls)
{
    for (int is_overwritten = 0; is_overwritten < 2; is_overwritten++) {
        start_with_two(DEFRAG_REPACK);
        if (is_overwritten != 0) {
            ck_assert_int_eq(copy(4, 0, 2), DEVICE_OK);
        }
        const struct verdict *verdict = on(OP_TOUCH, 0);
        ck_assert_int_eq(verdict->rule, is_overwritten != 0 ? RULE_CONTENTS : RULE_NONE);
        stop();
    }
}

/* --- what stays in host memory --- */

/* --- what stays in host memory --- */

/* Room lets it come back that was free before the call and still is: here [2, 5) and [15, 16) are
 * taken, and then nothing is free. */
TEST(a_block_stays_in_host_memory_while_others_take_its_room)
{
    start_stranded();
    arm_copy(1);
    script.act = refuse_return;
    KEEPS(alloc_at(5, 10));
    KEEPS(alloc_at(2, 3));
    const uint32_t taker = (uint32_t)run_ops(script.run)->count - 1;
    KEEPS(alloc_at(15, 1));
    KEEPS(on_for(OP_USE, 1, 1000));
    KEEPS(on(OP_FREE, taker));
    ck_assert_uint_eq(model_absent_count(run_model(script.run, 0)), 1);
    BREAKS(on_for(OP_USE, 1, 1000), RULE_MOVED_UNASKED);
    stop();
}

/* --- evictions --- */

static uint64_t number_of_evicted;

static void evict_number(void)
{
    (void)script.device[0]->unload(script.device[0]->context, number_of_evicted);
}

/* The device is told the number of the program's op and one. */
TEST(only_a_number_that_names_a_program_is_evicted)
{
    const struct {
        uint64_t number;
        const char *reason;
    } rows[] = {
        {1, NULL},
        {0, "evicted program 18446744073709551615, which is not loaded"},
        {2, "evicted program 1, which is not loaded"},
        {(uint64_t)1 << 32, "evicted program 4294967295, which is not loaded"},
        {((uint64_t)1 << 32) + 1, "evicted program 4294967296, which is not loaded"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        KEEPS(load_at(0, 2, 0));
        number_of_evicted = rows[i].number;
        script.act = evict_number;
        const struct verdict *verdict = alloc_at(4, 2);
        ck_assert_int_eq(verdict->rule, rows[i].reason == NULL ? RULE_NONE : RULE_WRONG_EVICTION);
        ck_assert(rows[i].reason == NULL || strcmp(verdict->reason, rows[i].reason) == 0);
        stop();
    }
}
