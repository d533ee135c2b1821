/* Where blocks are after an op: what may be written where, what moves by itself, and how a wrong
 * move is told. */
#include "harness/rules/private/families.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static void start_with(enum defrag_contract defrag)
{
    prepare();
    script.contract.defrag = defrag;
    start_hosts(1);
}

static const struct verdict *defragment_with(void (*act)(void))
{
    script.act = act;
    return step(op_make(OP_DEFRAGMENT));
}

static void move_0_to_4(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
    script.at[1].address = 4 * G;
}

/* --- places --- */

static void move_0_out(void)
{
    script.at[1].address = 15 * G;
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
}

TEST(no_block_moves_out_of_the_device)
{
    start();
    KEEPS(alloc_at(0, 2));
    const struct verdict *verdict = defragment_with(move_0_out);
    BREAKS(verdict, RULE_OUTSIDE);
    ck_assert_str_eq(verdict->reason, "block 0 moved to 0x1e00");
    ck_assert_str_eq(verdict->mechanism, "place after the op");
    stop();
}

static void move_both_then_wait(void)
{
    ck_assert_int_eq(copy(4, 8, 4), DEVICE_OK);
    script.at[1].address = 8 * G;
    script.at[2].address = 10 * G;
    wait_for(2);
}
static void wait_then_move_both(void)
{
    wait_for(2);
    ck_assert_int_eq(copy(4, 8, 4), DEVICE_OK);
    script.at[1].address = 8 * G;
    script.at[2].address = 10 * G;
}

/* Two blocks are copied at once, the second of which is in use until an event is awaited. */
TEST(each_block_of_a_copy_is_looked_at)
{
    void (*const acts[])(void) = {wait_then_move_both, move_both_then_wait};
    for (int is_in_use = 0; is_in_use < 2; is_in_use++) {
        start_with(DEFRAG_REPACK);
        KEEPS(alloc_at(4, 2));
        KEEPS(alloc_at(6, 2));
        KEEPS(on_for(OP_USE, 1, 1000));
        const struct verdict *verdict = defragment_with(acts[is_in_use]);
        if (is_in_use != 0) {
            BREAKS(verdict, RULE_HELD_MOVED);
            ck_assert_str_eq(verdict->reason, "block 1 was copied to another place while it had 0 "
                                              "holds and 1 uses");
        } else {
            KEEPS(verdict);
        }
        stop();
    }
}

static void move_8_to_10_and_claim_0(void)
{
    ck_assert_int_eq(copy(8, 10, 2), DEVICE_OK);
    script.at[2].address = 10 * G;
    script.at[1].address = 0;
}

/* Where it was before it moved it is no more, even if nothing was written there since. */
TEST(a_block_that_moved_left_nothing_behind)
{
    start_with(DEFRAG_REPACK);
    KEEPS(alloc_at(0, 2));
    KEEPS(alloc_at(8, 2));
    KEEPS(defragment_with(move_0_to_4));
    BREAKS(defragment_with(move_8_to_10_and_claim_0), RULE_CONTENTS);
    stop();
}

static void move_1_to_0(void)
{
    ck_assert_int_eq(copy(4, 0, 2), DEVICE_OK);
    script.at[2].address = 0;
}

/* Op 0 made a block, or a program, at 0, and op 1 a block at 4. */
TEST(what_a_call_ends_is_out_of_the_way_of_its_moves)
{
    static const enum op_kind kinds[] = {OP_FREE, OP_FREE_AFTER, OP_UNLOAD};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        start_with(DEFRAG_REPACK);
        KEEPS(kinds[i] == OP_UNLOAD ? load_at(0, 2, 0) : alloc_at(0, 2));
        KEEPS(alloc_at(4, 2));
        script.act = move_1_to_0;
        KEEPS(on(kinds[i], 0));
        KEEPS(on(OP_TOUCH, 1));
        stop();
    }
}

static void evict_half_of_0(void)
{
    ck_assert_int_eq(unload(0), DEVICE_PARTIAL);
}

/* What half an eviction left of an image is seen when everything is looked at. */
TEST(contents_are_compared_with_the_report)
{
    for (int is_evicted = 0; is_evicted < 2; is_evicted++) {
        prepare();
        script.contract.resumes = true;
        start_hosts(1);
        KEEPS(load_at(4, 2, 0));
        KEEPS(arm(FAULT_UNLOAD_HALF));
        script.act = is_evicted != 0 ? evict_half_of_0 : NULL;
        KEEPS(alloc_at(8, 2));
        const struct verdict *verdict = report();
        ck_assert_int_eq(verdict->rule, is_evicted != 0 ? RULE_CONTENTS : RULE_NONE);
        stop();
    }
}

static void move_0_to_4_by_host(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage, 4 * G), DEVICE_OK);
    script.at[1].address = 4 * G;
}

/* On what is freed and still in use, and on what went bad; from the device, and from the host. */
TEST(nothing_is_written_where_nobody_may_write)
{
    for (int is_retired = 0; is_retired < 2; is_retired++) {
        for (int by_host = 0; by_host < 2; by_host++) {
            start_with(DEFRAG_REPACK);
            KEEPS(alloc_at(0, 2));
            if (is_retired != 0) {
                struct op op = op_make(OP_RETIRE);
                op.address = 5 * G;
                op.size_bytes = G;
                KEEPS(step(op));
            } else {
                KEEPS(alloc_at(5, 1));
                KEEPS(on_for(OP_FREE_AFTER, 1, 1000));
            }
            const struct verdict *verdict = defragment_with(by_host != 0 ? move_0_to_4_by_host
                                                                         : move_0_to_4);
            BREAKS(verdict, is_retired != 0 ? RULE_CONTENTS : RULE_REUSED_EARLY);
            ck_assert_str_eq(verdict->reason,
                             is_retired != 0 ? "a copy to 0x800 overlaps retired memory"
                                             : "a copy to 0x800 overwrites block 1, whose events "
                                               "are not done");
            ck_assert_str_eq(verdict->mechanism, "copy");
            stop();
        }
    }
}

/* Block 1 lies where block 0 moves to in a release.  It was freed while it was held. */
TEST(what_a_release_ends_may_be_written_over_by_it)
{
    enum { ENDED, HELD_TWICE, IN_USE, AWAITED, ANOTHER, FAILED, ROW_COUNT };
    for (int row = ENDED; row < ROW_COUNT; row++) {
        start_with(DEFRAG_REPACK);
        KEEPS(alloc_at(0, 2));
        KEEPS(alloc_at(5, 1));
        KEEPS(alloc_at(9, 1));
        KEEPS(on(OP_HOLD, 1));
        KEEPS(on(OP_HOLD, row == HELD_TWICE ? 1 : 2));
        if (row == IN_USE) {
            KEEPS(on_for(OP_USE, 1, 1000));
        }
        KEEPS(row == AWAITED ? on_for(OP_FREE_AFTER, 1, 1000) : on(OP_FREE, 1));
        script.act = move_0_to_4;
        script.result = row == FAILED ? TARGET_FAILED : TARGET_OK;
        const struct verdict *verdict = on(OP_RELEASE, row == ANOTHER ? 2 : 1);
        if (row == ENDED) {
            KEEPS(verdict);
            ck_assert_uint_eq(model_in_use_bytes(run_model(script.run, 0)), 3 * G);
        } else {
            ck_assert_msg(verdict->rule == RULE_REUSED_EARLY, "row %d: %s", row, verdict->reason);
        }
        stop();
    }
}

static uint64_t stage_kept;
static void stage_0_and_keep_it(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage_kept), DEVICE_OK);
}

/* What is in host memory, too, does not go there by itself. */
TEST(a_block_does_not_go_to_host_memory_by_itself)
{
    start_with(DEFRAG_REPACK);
    KEEPS(alloc_at(0, 2));
    KEEPS(defragment_with(stage_0_and_keep_it));
    KEEPS(on(OP_TOUCH, 0));
    script.at[1].address = TARGET_ADDRESS_NONE;
    const struct verdict *verdict = on(OP_TOUCH, 0);
    BREAKS(verdict, RULE_MOVED_UNASKED);
    ck_assert_str_eq(verdict->reason, "block 0 went to host memory");
    stop();
}

static void copy_0_to_4(void)
{
    ck_assert_int_eq(copy(0, 4, 2), DEVICE_OK);
}

/* What is copied from a held block is not moved, as long as the block stays. */
TEST(a_held_block_may_be_copied_where_it_stays)
{
    start();
    KEEPS(alloc_at(0, 2));
    KEEPS(on(OP_HOLD, 0));
    KEEPS(defragment_with(copy_0_to_4));
    KEEPS(on(OP_TOUCH, 0));
    BREAKS(defragment_with(move_0_to_4), RULE_HELD_MOVED);
    stop();
}

static uint64_t stage_left;
static void leave_0_in_host_memory(void)
{
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 0, 2 * G, &stage_left), DEVICE_OK);
    ck_assert_int_eq(device->stage_in(device->context, stage_left, 4 * G), DEVICE_REFUSED);
    script.at[1].address = TARGET_ADDRESS_NONE;
}

/* Nobody was called that could have brought it back. */
TEST(a_block_in_host_memory_does_not_come_back_by_itself)
{
    for (int is_back = 0; is_back < 2; is_back++) {
        start_with(DEFRAG_REPACK);
        KEEPS(alloc_at(0, 2));
        struct op op = op_make(OP_FAULT);
        op.tag = FAULT_COPY;
        op.size_bytes = 2;
        KEEPS(step(op));
        script.act = leave_0_in_host_memory;
        KEEPS(refuse(15));
        KEEPS(on(OP_TOUCH, 0));
        script.at[1].address = is_back != 0 ? 0 : TARGET_ADDRESS_NONE;
        const struct verdict *verdict = on(OP_TOUCH, 0);
        if (is_back != 0) {
            BREAKS(verdict, RULE_MOVED_UNASKED);
            ck_assert_str_eq(verdict->reason, "block 0 went from host memory");
            ck_assert_str_eq(verdict->mechanism, "place without a move");
        } else {
            KEEPS(verdict);
        }
        stop();
    }
}

/* --- texts of moves --- */

/* Block 0 is held: what moves it is told as it was seen. */
TEST(a_move_of_what_is_held_is_told_as_it_was_seen)
{
    static const struct {
        enum evidence_sight sight;
        const char *reason;
    } rows[] = {
        {SIGHT_COPY, "block 0 was copied to another place while it had 1 holds and 0 uses"},
        {SIGHT_MOVE, "block 0 was moved to 0x800 while it had 1 holds and 0 uses"},
        {SIGHT_PLACE, "block 0 moved although it has 1 holds and 0 uses"},
        {SIGHT_STRANDED, "block 0 moved although it has 1 holds and 0 uses"},
    };
    start();
    KEEPS(alloc_at(0, 2));
    KEEPS(on(OP_HOLD, 0));
    const struct model *model = run_model(script.run, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct verdict verdict = {.kind = VERDICT_NONE};
        struct judge judge = {.verdict = &verdict};
        const struct host host = {.model = (struct model *)model};
        const struct rule_evidence evidence = {.judge = &judge,
                                               .host = &host,
                                               .sight = rows[i].sight,
                                               .slot = model_slot_of_op(model, 0),
                                               .address = 4 * G};
        ck_assert(!rule_judge(RULE_HELD_MOVED, &evidence));
        ck_assert_str_eq(verdict.reason, rows[i].reason);
    }
    stop();
}

/* --- calls that overlap --- */

static void move_7_to_4(void)
{
    ck_assert_int_eq(copy(7, 4, 2), DEVICE_OK);
    script.at[1].address = 4 * G;
}

/* A block that another call moves before a donation returns: it is where it was moved to by then,
 * of its old size. */
TEST(a_donation_may_name_the_place_to_which_another_call_moved_it)
{
    static const struct {
        uint64_t at, size;
        enum rule rule;
    } rows[] = {
        {4, 2, RULE_NONE},
        {7, 2, RULE_NONE}, /* where it was when it was donated */
        {4, 1, RULE_MOVED_UNASKED},
        {4, 3, RULE_MOVED_UNASKED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        make_block_at_7();
        struct op op = op_make(OP_DONATE);
        op.ref = 0;
        op.size_bytes = G;
        const uint32_t donation = begin_call(op);
        const uint32_t moving = begin_call(op_make(OP_DEFRAGMENT));
        script.act = move_7_to_4;
        end_granted(donation, 9, rows[i].at, rows[i].size);
        script.at[9].address = 4 * G;
        end_call(moving);
        const struct verdict *verdict = &rig.verdicts[donation];
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop_lanes();
    }
}

/* The same for the image of a program that is there. */
TEST(an_execution_may_name_the_place_to_which_another_call_moved_its_image)
{
    start_lanes(DEFRAG_SLIDE);
    struct op op = op_make(OP_LOAD);
    op.size_bytes = 2 * G;
    const uint32_t load = begin_call(op);
    end_granted(load, 1, 7, 2);
    KEEPS(&rig.verdicts[load]);
    op = op_make(OP_EXECUTE);
    op.ref = load;
    op.delay_ns = 1000;
    const uint32_t execution = begin_call(op);
    const uint32_t moving = begin_call(op_make(OP_DEFRAGMENT));
    script.act = move_7_to_4;
    end_call(moving);
    end_granted(execution, 1, 4, 2);
    KEEPS(&rig.verdicts[execution]);
    const struct model *model = run_model(script.run, 0);
    ck_assert_uint_eq(model_block(model, model_slot_of_op(model, load))->address, 4 * G);
    stop_lanes();
}
