/* Where blocks are while calls overlap: which copies and stages were moves, whether they may have
 * been, and what that leaves of an out-of-memory beside them. */
#include "tests/harness/rules/overlap_steps.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* Blocks of two granules at 7 and at 10, with handles 1 and 2; and a defragmentation under way. */
static uint32_t blocks[2];
static uint32_t start_move(enum defrag_contract defrag)
{
    start_lanes(defrag);
    blocks[0] = make_block(1, 7, 2);
    blocks[1] = make_block(2, 10, 2);
    return begin_on(OP_DEFRAGMENT, 0);
}

static void move_to(uint64_t handle, uint64_t from, uint64_t to)
{
    ck_assert_int_eq(copy(from, to, 2), DEVICE_OK);
    place(handle, to);
}

static void refuse_copy(void)
{
    strike(FAULT_COPY);
    ck_assert_int_eq(copy(0, 0, 1), DEVICE_REFUSED);
}

static void stage_in(uint64_t stage, uint64_t to)
{
    ck_assert_int_eq(end_stage(stage, to), DEVICE_OK);
}

static uint32_t call_free_after_never(uint32_t ref)
{
    struct op op = op_make(OP_FREE_AFTER);
    op.ref = ref;
    op.delay_ns = DELAY_NEVER;
    const uint32_t number = begin_call(op);
    end_call(number);
    return number;
}

/* The block at 7 left for that at 10, and is in host memory.  An overlap of its own. */
static uint64_t start_stranded(uint32_t host_count)
{
    prepare();
    script.contract.defrag = DEFRAG_REPACK;
    open_lanes(host_count);
    blocks[0] = make_block(1, 7, 2);
    blocks[1] = make_block(2, 10, 2);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const uint64_t stage = take_stage(7, 2);
    move_to(2, 10, 7);
    strike(FAULT_COPY);
    ck_assert_int_eq(end_stage(stage, 10), DEVICE_REFUSED);
    place(1, NOWHERE);
    end_call(move);
    expect_all_kept();
    return stage;
}

/* --- what was a move --- */

/* Another block gets its place. */
TEST(a_block_is_followed_through_all_that_is_done_to_it)
{
    enum { REFUSED, STAGED, STAGED_WITH_MORE, ROW_COUNT };
    for (int row = REFUSED; row < ROW_COUNT; row++) {
        const uint32_t move = start_move(DEFRAG_REPACK);
        move_to(1, 7, 3);
        if (row == REFUSED) {
            strike(FAULT_COPY);
            ck_assert_int_eq(copy(3, 0, 2), DEVICE_REFUSED);
            move_to(1, 3, 5);
        } else if (row == STAGED) {
            const uint64_t stage = take_stage(3, 2);
            stage_in(take_stage(10, 2), 13);
            stage_in(stage, 0);
            place(1, 0);
            place(2, 13);
        } else {
            stage_in(take_stage(2, 3), 13);
            place(1, 14);
        }
        call_alloc(3, 7, 2);
        end_call(move);
        expect_all_kept();
        stop_lanes();
    }
}

/* Where it is loaded again says nothing of where it was moved before. */
TEST(a_program_may_move_before_it_is_evicted)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t program = make_program(1, 7, 2);
    const uint32_t execution = begin_on(OP_EXECUTE, program);
    const uint32_t request = begin_alloc(2 * G);
    ck_assert_int_eq(copy(7, 3, 2), DEVICE_OK);
    call_alloc(2, 7, 2);
    ck_assert_int_eq(unload(program), DEVICE_OK);
    end_granted(execution, 1, 0, 2);
    end_granted(request, 3, 10, 2);
    expect_all_kept();
    stop_lanes();
}

/* The target thought better of it: the block stayed, and others get the place. */
TEST(what_is_copied_has_not_always_moved)
{
    enum { STAGE, HALF_A_STAGE, HALF_OF_A_HELD_ONE, DYING, ROW_COUNT };
    for (int row = STAGE; row < ROW_COUNT; row++) {
        const uint32_t move = start_move(DEFRAG_REPACK);
        if (row == HALF_OF_A_HELD_ONE) { /* and nobody can be asked where it is */
            call_on(OP_HOLD, blocks[0]);
        }
        const uint32_t going = row == HALF_OF_A_HELD_ONE ? begin_on(OP_FREE, blocks[0]) : move;
        if (row == DYING) {
            call_free_after_never(blocks[0]);
            ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
        } else {
            stage_in(take_stage(row == STAGE ? 7 : 8, row == STAGE ? 2 : 1), 0);
        }
        call_alloc(3, 0, 2);
        end_call(move);
        if (going != move) {
            end_call(going);
        }
        expect_all_kept();
        stop_lanes();
    }
}

TEST(what_was_evicted_or_freed_does_not_come_back_from_a_stage)
{
    enum { FREED, FREED_AND_FOLLOWED, EVICTED, EVICTED_AFTER_A_REFUSAL, ROW_COUNT };
    for (int row = FREED; row < ROW_COUNT; row++) {
        const bool is_program = row >= EVICTED;
        start_lanes(DEFRAG_REPACK);
        const uint32_t made = is_program ? make_program(1, 7, 2) : make_block(1, 7, 2);
        const uint32_t request = begin_alloc(2 * G);
        const uint64_t stage = take_stage(7, 2);
        if (row == EVICTED_AFTER_A_REFUSAL) {
            refuse_copy();
        }
        if (is_program) {
            ck_assert_int_eq(unload(made), DEVICE_OK);
            place(1, NOWHERE);
        } else {
            call_on(OP_FREE, made);
        }
        if (row == FREED_AND_FOLLOWED) {
            call_alloc(4, 12, 2); /* in its slot */
        }
        stage_in(stage, 0);
        call_alloc(3, 0, 2);
        end_granted(request, 2, 7, 2);
        expect_all_kept();
        stop_lanes();
    }
}

/* One stage is of a block on one host, the other of nothing, on a host without a block. */
TEST(each_host_has_its_own_stages)
{
    start_lanes_on(2, DEFRAG_REPACK);
    make_block(1, 7, 2);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const uint64_t stage = take_stage(7, 2);
    const struct device_services *other = script.device[1];
    uint64_t others = 0;
    ck_assert_int_eq(other->stage_out(other->context, 0, G, &others), DEVICE_OK);
    ck_assert_uint_eq(others, stage);
    ck_assert_int_eq(other->stage_in(other->context, others, 0), DEVICE_OK);
    stage_in(stage, 0);
    place(1, 0);
    call_alloc(2, 7, 2);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* What was left in host memory by an earlier call is none of a block that has a place. */
TEST(a_stage_of_a_block_that_has_a_place_brings_nothing_back)
{
    end_call(start_move(DEFRAG_REPACK));
    const uint32_t leaving = begin_on(OP_DEFRAGMENT, 0);
    const uint64_t stage = take_stage(7, 2);
    end_call(leaving);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    stage_in(stage, 0);
    call_alloc(3, 0, 2);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* --- over other blocks --- */

TEST(a_block_that_stays_does_not_make_room)
{
    const uint32_t move = start_move(DEFRAG_SLIDE);
    const uint32_t touch = begin_on(OP_TOUCH, blocks[1]);
    move_to(1, 7, 10);
    end_call(touch);
    end_call(move);
    BREAKS(&rig.verdicts[move], RULE_OVERLAP);
    ck_assert_str_eq(rig.verdicts[move].reason, "block 0 came back from host memory onto block 1");
    stop_lanes();
}

TEST(a_block_makes_room_while_it_is_in_a_stage)
{
    const uint32_t move = start_move(DEFRAG_REPACK);
    const uint64_t stage = take_stage(10, 2);
    move_to(1, 7, 10);
    move_to(1, 10, 12);
    stage_in(stage, 10);
    call_alloc(3, 7, 2);
    const uint32_t refused = call_refused(11); /* it is known where each of the three is */
    end_call(move);
    JUDGED(&rig.verdicts[refused], VERDICT_JUSTIFIED);
    KEEPS(&rig.verdicts[move]);
    stop_lanes();
}

/* It is the second in its stage, of which the first alone is followed.  But it is somewhere else in
 * the end. */
TEST(a_block_that_goes_elsewhere_makes_room)
{
    start_lanes(DEFRAG_REPACK);
    make_block(1, 8, 2);
    make_block(2, 10, 2);
    make_block(3, 4, 2);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const uint64_t stage = take_stage(8, 4);
    move_to(3, 4, 10);
    move_to(3, 10, 13);
    stage_in(stage, 0);
    place(1, 0);
    place(2, 2);
    call_alloc(4, 10, 2);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* --- what may not move --- */

TEST(a_held_block_moves_by_no_stage)
{
    const uint32_t move = start_move(DEFRAG_REPACK);
    const uint32_t hold = call_on(OP_HOLD, blocks[0]);
    const uint64_t stage = take_stage(7, 2);
    stage_in(stage, 0);
    place(1, 0);
    end_call(move);
    KEEPS(&rig.verdicts[hold]);
    BREAKS(&rig.verdicts[move], RULE_HELD_MOVED);
    stop_lanes();
}

/* A block that is freed, but whose event never comes, keeps its place; unless it was in host memory
 * alone before, or may have been: in a stage while the device refused something. */
TEST(what_keeps_its_place_is_not_written_over)
{
    enum { IN_PLACE, STAGED, STAGED_AND_REFUSED, BACK_AND_REFUSED, ROW_COUNT };
    for (int row = IN_PLACE; row < ROW_COUNT; row++) {
        const uint32_t move = start_move(DEFRAG_REPACK);
        const uint64_t stage = row == IN_PLACE ? 0 : take_stage(7, 2);
        uint64_t at = 7;
        if (row == BACK_AND_REFUSED) {
            at = 3;
            stage_in(stage, at);
        }
        if (row == STAGED_AND_REFUSED || row == BACK_AND_REFUSED) {
            refuse_copy();
        }
        const uint32_t freeing = call_free_after_never(blocks[0]);
        move_to(2, 10, at);
        end_call(move);
        KEEPS(&rig.verdicts[freeing]);
        if (row == STAGED_AND_REFUSED) {
            expect_all_kept();
        } else {
            BREAKS(&rig.verdicts[move], RULE_REUSED_EARLY);
        }
        stop_lanes();
    }
}

/* The same of one that was in host memory before any of these calls: once it is back it has a place
 * to keep. */
TEST(what_came_back_keeps_its_place)
{
    const uint64_t stage = start_stranded(1);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    move_to(2, 7, 4);
    stage_in(stage, 10);
    place(1, 10);
    call_free_after_never(blocks[0]);
    move_to(2, 4, 10);
    end_call(move);
    BREAKS(&rig.verdicts[move], RULE_REUSED_EARLY);
    stop_lanes();
}

/* A target that promised to move nothing, and copies: the block is elsewhere then; or it stays, as
 * far as can be told, and another one gets the place to which it was copied. */
TEST(nothing_moves_where_that_was_promised)
{
    enum { MOVED, NOT_MOVED, NOT_ASKED, FREED, ROW_COUNT };
    for (int row = MOVED; row < ROW_COUNT; row++) {
        prepare();
        script.contract.defrag = DEFRAG_NONE;
        script.is_blind = row == NOT_ASKED;
        open_lanes(1);
        const uint32_t block = make_block(1, 7, 2);
        const uint32_t freeing = begin_on(row == FREED ? OP_FREE : OP_TOUCH, block);
        const uint32_t request = begin_alloc(G);
        ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
        if (row == MOVED) {
            place(1, 0);
        } else {
            call_alloc(2, 0, 2);
        }
        end_call(freeing);
        end_granted(request, 3, 15, 1);
        if (row == MOVED) {
            BREAKS(&rig.verdicts[freeing], RULE_MOVED_UNASKED);
            ck_assert_ptr_nonnull(
                strstr(rig.verdicts[freeing].reason, "block 0 went from 0xe00 to 0x0"));
        } else {
            expect_all_kept();
        }
        stop_lanes();
    }
}

static uint32_t make_block_on_1(uint64_t handle, uint64_t at)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = 2 * G;
    op.host = 1;
    const uint32_t number = begin_call(op);
    end_granted(number, handle, at, 2);
    return number;
}

/* The upper one of two blocks is below the other in the end.  A contract that lets none move past
 * another is broken, if both were there all the time. */
TEST(no_block_moves_past_another_where_that_was_promised)
{
    enum { PASSED, REPACKED, DONATED, NEW, FREED, FOLLOWED, LOADED_AGAIN, ROW_COUNT };
    for (int row = PASSED; row < ROW_COUNT; row++) {
        start_lanes(row == REPACKED ? DEFRAG_REPACK : DEFRAG_SLIDE);
        const uint32_t low = row == LOADED_AGAIN ? make_program(1, 4, 2) : make_block(1, 4, 2);
        const uint32_t high = row == NEW ? 0 : make_block(2, 10, 2);
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const uint32_t request = begin_alloc(G);
        if (row == NEW) {
            call_alloc(2, 10, 2);
        }
        if (row == DONATED) {
            struct op op = op_make(OP_DONATE);
            op.size_bytes = 2 * G;
            op.ref = high;
            end_granted(begin_call(op), 3, 10, 2);
        }
        if (row == LOADED_AGAIN) {
            move_to(2, 10, 8);
            ck_assert_int_eq(unload(low), DEVICE_OK);
            end_granted(begin_on(OP_EXECUTE, low), 1, 13, 2);
        } else {
            move_to(row == DONATED ? 3 : 2, 10, 0);
        }
        if (row == FREED || row == FOLLOWED) {
            call_on(OP_FREE, low);
        }
        if (row == FOLLOWED) {
            call_alloc(5, 12, 2); /* in its slot */
        }
        end_granted(request, 4, 15, 1);
        end_call(move);
        if (row == PASSED) {
            BREAKS(&rig.verdicts[move], RULE_MOVED_UNASKED);
            ck_assert_str_eq(
                rig.verdicts[move].reason,
                "block 1 is at 0x0 and block 0 at 0x800, so that they passed each other");
        } else {
            expect_all_kept();
        }
        stop_lanes();
    }
}

TEST(blocks_of_two_hosts_may_pass_each_other)
{
    start_lanes_on(2, DEFRAG_SLIDE);
    make_block_on_1(1, 4);
    make_block_on_1(2, 7);
    make_block(3, 10, 2);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const struct device_services *other = script.device[1];
    ck_assert_int_eq(other->copy(other->context, 7 * G, 9 * G, 2 * G), DEVICE_OK);
    ck_assert_int_eq(other->copy(other->context, 9 * G, 11 * G, 2 * G), DEVICE_OK);
    place(2, 11);
    move_to(3, 10, 0);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* Each has a place of its own above, in which another one is put. */
TEST(one_copy_may_move_many_blocks)
{
    enum { COUNT = 70, BLOCK_BYTES = 16 };
    for (int is_up = 0; is_up < 2; is_up++) {
        const uint64_t from = is_up != 0 ? 0 : 4096;
        const uint64_t to = is_up != 0 ? 512 : 4096 - 512;
        prepare();
        script.contract.granule_bytes = BLOCK_BYTES;
        open_lanes(1);
        for (uint64_t i = 0; i < COUNT; i++) {
            script.block = (struct target_block){i + 1, from + i * BLOCK_BYTES, BLOCK_BYTES};
            end_call(begin_alloc(BLOCK_BYTES));
        }
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const struct device_services *device = script.device[0];
        ck_assert_int_eq(device->copy(device->context, from, to, COUNT * BLOCK_BYTES), DEVICE_OK);
        for (uint64_t i = 0; i < COUNT; i++) {
            script.at[i + 1].address = to + i * BLOCK_BYTES;
        }
        /* The last one that a copy in this direction brings to safety. */
        const uint64_t last = is_up != 0 ? from : from + (COUNT - 1) * BLOCK_BYTES;
        script.block = (struct target_block){COUNT + 1, last, BLOCK_BYTES};
        end_call(begin_alloc(BLOCK_BYTES));
        end_call(move);
        expect_all_kept();
        stop_lanes();
    }
}

/* A copy may read over it, and brings nothing of it to another place. */
TEST(what_was_retired_stays_where_it_is)
{
    start_lanes(DEFRAG_REPACK);
    make_block(1, 4, 2);
    struct op op = op_make(OP_RETIRE);
    op.address = 6 * G;
    op.size_bytes = G;
    end_call(begin_call(op));
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    ck_assert_int_eq(copy(4, 10, 3), DEVICE_OK);
    place(1, 10);
    call_alloc(2, 12, 1);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* --- in host memory --- */

/* No refusal is judged while a block is in host memory.  From its return on it is in the way:
 * also if it was freed meanwhile; and what another host makes at the same time says nothing of it.
 */
TEST(a_block_that_is_back_is_in_the_way)
{
    enum { BACK, FREED, BESIDE_ANOTHER_HOST, AWAY, ROW_COUNT };
    for (int row = BACK; row < ROW_COUNT; row++) {
        const uint64_t stage = start_stranded(row == BESIDE_ANOTHER_HOST ? 2 : 1);
        if (row == FREED) {
            call_free_after_never(blocks[0]);
        }
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        if (row == BESIDE_ANOTHER_HOST) {
            struct op op = op_make(OP_ALLOC);
            op.size_bytes = 2 * G;
            op.host = 1;
            end_granted(begin_call(op), 3, 0, 2);
        }
        if (row != AWAY) {
            stage_in(stage, 10);
            place(1, 10);
        }
        const uint32_t refused = call_refused(13);
        if (row == AWAY) {
            stage_in(stage, 10);
            place(1, 10);
        }
        end_call(move);
        JUDGED(&rig.verdicts[refused], row == AWAY ? VERDICT_NONE : VERDICT_JUSTIFIED);
        KEEPS(&rig.verdicts[move]);
        stop_lanes();
    }
}

/* The device refuses to take a block back from host memory. */
TEST(only_a_block_that_nobody_kept_is_left_in_host_memory)
{
    enum { FREE, NEW, HELD_LATER, HELD, USED, DROPPED, SLIDES, ROW_COUNT };
    const enum rule rules[ROW_COUNT] = {
        [FREE] = RULE_NONE,       [HELD_LATER] = RULE_NONE,       [HELD] = RULE_HELD_MOVED,
        [USED] = RULE_HELD_MOVED, [DROPPED] = RULE_MOVED_UNASKED, [SLIDES] = RULE_MOVED_UNASKED};
    for (int row = FREE; row < ROW_COUNT; row++) {
        const uint32_t move = start_move(row == SLIDES ? DEFRAG_SLIDE : DEFRAG_REPACK);
        if (row == HELD) {
            call_on(OP_HOLD, blocks[0]);
        }
        if (row == USED) {
            struct op op = op_make(OP_USE);
            op.ref = blocks[0];
            op.delay_ns = DELAY_NEVER;
            end_call(begin_call(op));
        }
        if (row == NEW) {
            call_alloc(3, 4, 2);
        }
        const uint64_t stage = take_stage(row == NEW ? 4 : 7, 2);
        strike(FAULT_COPY);
        ck_assert_int_eq(end_stage(stage, 0), DEVICE_REFUSED);
        if (row == HELD_LATER) {
            call_on(OP_HOLD, blocks[0]);
        }
        if (row == DROPPED) {
            script.device[0]->stage_drop(script.device[0]->context, stage);
        }
        place(row == NEW ? 3 : 1, NOWHERE);
        end_call(move);
        ck_assert_msg(rig.verdicts[move].rule == rules[row], "row %d: %s", row,
                      rig.verdicts[move].reason);
        stop_lanes();
    }
}
