/* In which order calls that overlap had their effects: what a target may answer, because some order
 * explains it, and what no order does. */
#include "tests/harness/rules/overlap_steps.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* A program with handle 3 that was loaded and evicted since. */
static uint32_t evict_program(uint64_t at)
{
    const uint32_t program = make_program(3, at, 2);
    const uint32_t other = begin_on(OP_DEFRAGMENT, 0);
    const uint32_t evicting = begin_alloc(G);
    ck_assert_int_eq(unload(program), DEVICE_OK);
    place(3, NOWHERE);
    end_granted(evicting, 4, 15, 1);
    call_on(OP_FREE, evicting);
    end_call(other);
    return program;
}

/* --- memory that is taken --- */

TEST(a_block_that_can_be_nowhere_is_told_for_its_own_call)
{
    const struct {
        uint64_t at, size;
        enum rule rule;
    } rows[] = {
        {3, 0, RULE_TOO_SMALL},
        {0, 17, RULE_OUTSIDE},
        {15, 2, RULE_OUTSIDE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, 7, 2);
        const uint32_t wrong = begin_alloc(G);
        const uint32_t other = call_on(OP_TOUCH, block);
        end_granted(wrong, 2, rows[i].at, rows[i].size);
        ck_assert_uint_eq(rig.verdicts[other].op, other); /* it was told first */
        KEEPS(&rig.verdicts[other]);
        BREAKS(&rig.verdicts[wrong], rows[i].rule);
        stop_lanes();
    }
}

/* Where there is room the block is placed before its call returns, and before others do. */
TEST(a_block_without_a_handle_is_told_at_once)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t block = make_block(1, 7, 2);
    const uint32_t wrong = begin_alloc(G);
    const uint32_t other = call_on(OP_TOUCH, block);
    end_granted(wrong, 0, 3, 1);
    BREAKS(&rig.verdicts[wrong], RULE_HANDLE);
    ck_assert_uint_eq(rig.verdicts[other].op, 0); /* nothing was said of it */
    stop_lanes();
}

/* It takes nothing either: the memory is all free while the request waits. */
TEST(a_block_that_can_be_nowhere_justifies_no_refusal)
{
    const struct target_block rows[] = {
        {2, 3 * G, 0},
        {2, 0, 17 * G},
        {2, 15 * G, 2 * G},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t wrong = begin_alloc(G);
        const uint32_t refused = call_refused(16);
        script.block = rows[i];
        end_call(wrong);
        JUDGED(&rig.verdicts[refused], VERDICT_PREMATURE);
        stop_lanes();
    }
}

/* A block goes, and another one takes its place and more. */
TEST(what_takes_the_place_of_a_block_that_goes_may_leave_less_room)
{
    const struct {
        uint64_t at, size, refused;
    } rows[] = {
        {7, 5, 12},
        {11, 5, 12},
        {0, 16, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, rows[i].at, 2);
        const uint32_t freeing = begin_on(OP_FREE, block);
        const uint32_t large = begin_alloc(rows[i].size * G);
        const uint32_t refused = call_refused(rows[i].refused);
        end_granted(large, 2, rows[i].at, rows[i].size);
        end_call(freeing);
        JUDGED(&rig.verdicts[refused], VERDICT_JUSTIFIED);
        KEEPS(&rig.verdicts[large]);
        KEEPS(&rig.verdicts[freeing]);
        stop_lanes();
    }
}

/* The block is read, or its free fails: it stays, whatever a wrong target puts there. */
TEST(what_takes_the_place_of_a_block_that_stays_justifies_nothing)
{
    for (int fails = 0; fails < 2; fails++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, 7, 2);
        const uint32_t staying = begin_on(fails != 0 ? OP_FREE : OP_TOUCH, block);
        const uint32_t large = begin_alloc(5 * G);
        const uint32_t refused = call_refused(12);
        end_granted(large, 2, 7, 5);
        script.result = fails != 0 ? TARGET_FAILED : TARGET_OK;
        end_call(staying);
        JUDGED(&rig.verdicts[refused], VERDICT_PREMATURE);
        stop_lanes();
    }
}

TEST(nothing_can_be_done_with_what_was_gone)
{
    const enum op_kind rows[] = {OP_USE, OP_HOLD, OP_EXECUTE};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const bool is_program = rows[i] == OP_EXECUTE;
        const uint32_t made = is_program ? make_program(1, 7, 2) : make_block(1, 7, 2);
        const uint32_t late = begin_on(rows[i], made);
        const uint32_t end = call_on(is_program ? OP_UNLOAD : OP_FREE, made);
        script.block = script.at[1];
        end_call(late);
        KEEPS(&rig.verdicts[end]);
        BREAKS(&rig.verdicts[late], RULE_STATUS);
        ck_assert_ptr_nonnull(strstr(rig.verdicts[late].reason, "which was gone"));
        stop_lanes();
    }
}

/* --- memory that is given back --- */

/* Two blocks go; who gets the place of one says nothing of the other, which is in the way. */
TEST(only_what_lay_in_the_range_of_a_new_block_is_gone)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t low = make_block(1, 0, 2);
    const uint32_t high = make_block(2, 14, 2);
    const uint32_t free_high = begin_on(OP_FREE, high);
    const uint32_t free_low = begin_on(OP_FREE, low);
    call_alloc(3, 0, 2);
    const uint32_t refused = call_refused(13);
    end_call(free_high);
    end_call(free_low);
    JUDGED(&rig.verdicts[refused], VERDICT_JUSTIFIED);
    KEEPS(&rig.verdicts[free_low]);
    stop_lanes();
}

/* Something is written to the place of a block that goes: it is gone, unless that is itself, or it
 * may be in host memory.  There is room for 13 granules where one of two blocks of two is left. */
TEST(what_is_written_over_is_gone_unless_it_is_what_is_written)
{
    const struct {
        bool is_copy, has_stage; /* another stage of the block is left */
        uint64_t from, to;
        enum verdict_kind verdict;
    } rows[] = {
        {false, false, 7, 7, VERDICT_JUSTIFIED}, {false, false, 7, 6, VERDICT_JUSTIFIED},
        {true, false, 7, 6, VERDICT_JUSTIFIED},  {false, false, 10, 7, VERDICT_PREMATURE},
        {true, false, 10, 7, VERDICT_PREMATURE}, {false, false, 0, 7, VERDICT_PREMATURE},
        {true, true, 10, 7, VERDICT_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_REPACK);
        const uint32_t block = make_block(1, 7, 2);
        make_block(2, 10, 2);
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const uint32_t going = begin_on(OP_FREE, block);
        const uint64_t left = rows[i].has_stage ? take_stage(7, 2) : 0;
        ck_assert_int_eq(rows[i].is_copy ? copy(rows[i].from, rows[i].to, 2)
                                         : end_stage(take_stage(rows[i].from, 2), rows[i].to),
                         DEVICE_OK);
        place(2, rows[i].from == 10 ? 7 : 10);
        const uint32_t refused = call_refused(13);
        if (rows[i].has_stage) {
            ck_assert_int_eq(end_stage(left, 0), DEVICE_OK);
        }
        end_call(going);
        end_call(move);
        JUDGED(&rig.verdicts[refused], rows[i].verdict);
        KEEPS(&rig.verdicts[move]);
        stop_lanes();
    }
}

/* --- who had a range first --- */

/* Two blocks that got the same range: the first to return is not always the first that was there.
 * Its place in the end says whose copy away it was. */
TEST(a_block_that_is_copied_away_had_its_place_first)
{
    const struct {
        uint64_t first, second; /* where they are in the end */
    } rows[] = {{8, 4}, {4, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const uint32_t last = begin_alloc(2 * G);
        const uint32_t soon = begin_alloc(2 * G);
        ck_assert_int_eq(copy(4, 8, 2), DEVICE_OK);
        end_granted(soon, 2, 4, 2);
        end_granted(last, 1, 4, 2);
        place(1, rows[i].first);
        place(2, rows[i].second);
        end_call(move);
        expect_all_kept();
        stop_lanes();
    }
}

/* The copy was refused: the first to return was there, and was freed. */
TEST(a_refused_copy_does_not_say_who_was_there_first)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const uint32_t last = begin_alloc(2 * G);
    const uint32_t soon = begin_alloc(2 * G);
    strike(FAULT_COPY);
    ck_assert_int_eq(copy(4, 8, 2), DEVICE_REFUSED);
    end_granted(soon, 2, 4, 2);
    call_on(OP_FREE, soon);
    ck_assert_int_eq(copy(4, 8, 2), DEVICE_OK);
    end_granted(last, 1, 4, 2);
    place(1, 8);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* A new block and its upper neighbour are copied at once, and another block takes their place. */
TEST(a_new_block_may_leave_with_its_neighbour)
{
    start_lanes(DEFRAG_SLIDE);
    make_block(1, 6, 2);
    make_block(2, 10, 2);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const uint32_t new = begin_alloc(2 * G);
    ck_assert_int_eq(copy(4, 0, 4), DEVICE_OK);
    ck_assert_int_eq(copy(10, 4, 2), DEVICE_OK);
    place(1, 2);
    place(2, 4);
    end_granted(new, 3, 4, 2);
    place(3, 0);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* Two blocks were in the place one after the other before a third got it, whose call returned
 * first. */
TEST(a_block_that_stays_came_after_what_was_copied_to_its_place)
{
    for (int is_staged = 0; is_staged < 2; is_staged++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, 10, 2);
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const uint32_t third = begin_alloc(2 * G);
        const uint32_t first = begin_alloc(2 * G);
        ck_assert_int_eq(copy(4, 0, 2), DEVICE_OK);
        ck_assert_int_eq(is_staged != 0 ? end_stage(take_stage(10, 2), 4) : copy(10, 4, 2),
                         DEVICE_OK);
        call_on(OP_FREE, block);
        end_granted(third, 2, 4, 2);
        end_granted(first, 3, 4, 2);
        place(3, 0);
        end_call(move);
        expect_all_kept();
        stop_lanes();
    }
}

/* --- evictions --- */

/* A program that is evicted before its load returns had its place before the block that got it; but
 * not if the device refused, or if it was another program that went. */
TEST(a_program_evicted_before_its_load_returns_was_there_first)
{
    enum { EVICTED, REFUSED, OTHER, LATER, ROW_COUNT };
    for (int row = EVICTED; row < ROW_COUNT; row++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t other = make_program(1, 10, 2);
        const uint32_t load = begin_load(2);
        const uint32_t request = begin_alloc(2 * G);
        const uint32_t evicting = begin_alloc(G);
        if (row == REFUSED) {
            strike(FAULT_UNLOAD);
        }
        if (row != LATER) {
            ck_assert_int_eq(unload(row == OTHER ? other : load),
                             row == REFUSED ? DEVICE_REFUSED : DEVICE_OK);
        }
        place(1, row == OTHER ? NOWHERE : 10);
        end_granted(request, 2, 4, 2);
        if (row != EVICTED) {
            call_on(OP_FREE, request);
        }
        if (row == LATER) {
            ck_assert_int_eq(unload(load), DEVICE_OK);
        }
        end_granted(evicting, 4, 15, 1);
        script.block = (struct target_block){3, 4 * G, 2 * G};
        end_call(load);
        expect_all_kept();
        stop_lanes();
    }
}

/* An execution loads the program again, is over, and the program is evicted for a block that gets
 * the place and returns later. */
TEST(a_program_that_was_loaded_again_was_there_first)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t program = evict_program(4);
    const uint32_t execution = begin_on(OP_EXECUTE, program);
    const uint32_t request = begin_alloc(2 * G);
    end_granted(execution, 3, 4, 2);
    ck_assert_int_eq(unload(program), DEVICE_OK);
    place(3, NOWHERE);
    end_granted(request, 2, 4, 2);
    expect_all_kept();
    stop_lanes();
}

/* The place of the program is that of a block whose free has not returned either. */
TEST(an_eviction_says_that_the_load_had_its_place)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t block = make_block(1, 4, 2);
    const uint32_t freeing = begin_on(OP_FREE, block);
    const uint32_t load = begin_load(2);
    const uint32_t request = begin_alloc(2 * G);
    ck_assert_int_eq(unload(load), DEVICE_OK);
    end_granted(request, 2, 4, 2);
    end_granted(load, 3, 4, 2);
    end_call(freeing);
    expect_all_kept();
    stop_lanes();
}

/* The load is to blame, not the call that evicts, nor the next one that returns. */
TEST(an_evicted_program_that_lay_on_a_block_is_told_for_its_load)
{
    start_lanes(DEFRAG_SLIDE);
    make_block(1, 4, 2);
    const uint32_t load = begin_load(2);
    const uint32_t request = begin_alloc(2 * G);
    ck_assert_int_eq(unload(load), DEVICE_OK);
    end_granted(request, 2, 8, 2);
    end_granted(load, 3, 4, 2);
    BREAKS(&rig.verdicts[load], RULE_OVERLAP);
    ck_assert_int_eq(rig.verdicts[request].kind, VERDICT_NONE);
    stop_lanes();
}

TEST(no_host_evicts_what_another_one_loads)
{
    for (uint8_t host = 0; host < 2; host++) {
        start_lanes_on(2, DEFRAG_SLIDE);
        struct op op = op_make(OP_LOAD);
        op.size_bytes = 2 * G;
        op.host = host;
        const uint32_t load = begin_call(op);
        const uint32_t request = begin_alloc(2 * G);
        ck_assert_int_eq(unload(load), DEVICE_OK);
        end_granted(request, 2, 4, 2);
        end_granted(load, 3, 4, 2);
        if (host == 0) {
            expect_all_kept();
        } else {
            BREAKS(&rig.verdicts[request], RULE_WRONG_EVICTION);
        }
        stop_lanes();
    }
}

/* --- copies --- */

/* A block that goes, a new one that got its place and is copied away from it, and a third, there in
 * the end.  The first cannot be what was copied: it does not lie just there, or is not to move. */
TEST(what_is_copied_from_where_nothing_could_move_is_new)
{
    const struct {
        uint64_t at, size;
        bool is_dying;
    } rows[] = {
        {7, 4, false},
        {6, 3, false},
        {8, 2, false},
        {7, 2, true},
    };
    const size_t row_count = sizeof rows / sizeof rows[0];
    for (size_t k = 0; k < 2 * row_count; k++) {
        const size_t i = k % row_count;
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, rows[i].at, rows[i].size);
        if (rows[i].is_dying) {
            call_on(OP_HOLD, block);
            call_on(OP_FREE, block);
        }
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const uint32_t going = begin_on(rows[i].is_dying ? OP_RELEASE : OP_FREE, block);
        const uint32_t new = begin_alloc(2 * G);
        ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
        call_alloc(2, 7, 2);
        end_granted(new, 3, 7, 2);
        place(3, 0);
        if (k >= row_count) { /* nobody can be asked where it would be */
            call_on(OP_FREE, new);
        }
        end_call(going);
        end_call(move);
        expect_all_kept();
        stop_lanes();
    }
}

/* It is to blame for what is wrong with it then, not the call that returns next. */
TEST(a_new_block_that_is_copied_away_is_told_for_its_own_call)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t block = make_block(1, 7, 4);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const uint32_t going = begin_on(OP_FREE, block);
    const uint32_t new = begin_alloc(2 * G);
    ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
    end_call(going);
    end_granted(new, 0, 7, 2);
    place(0, 0);
    end_call(move);
    BREAKS(&rig.verdicts[new], RULE_HANDLE);
    ck_assert_uint_eq(rig.verdicts[going].op, 0); /* nothing was said of it */
    stop_lanes();
}

/* Two blocks leave in one copy, and a new one gets the place of both and leaves as well. */
TEST(what_stays_is_what_is_copied)
{
    start_lanes(DEFRAG_SLIDE);
    make_block(1, 6, 2);
    make_block(2, 8, 2);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const uint32_t new = begin_alloc(4 * G);
    ck_assert_int_eq(copy(6, 0, 4), DEVICE_OK);
    place(1, 0);
    place(2, 2);
    ck_assert_int_eq(copy(6, 12, 4), DEVICE_OK);
    end_granted(new, 3, 6, 4);
    place(3, 12);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* The same where the first might have moved, but the new one is where only that copy leads. */
TEST(what_leads_to_the_place_of_a_new_block_took_it_there)
{
    for (int is_first = 0; is_first < 2; is_first++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, 7, 2);
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const uint32_t going = begin_on(OP_FREE, block);
        const uint32_t new = begin_alloc(2 * G);
        ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
        const uint32_t third = begin_alloc(2 * G);
        if (is_first == 0) {
            end_granted(third, 2, 7, 2);
        }
        end_granted(new, 3, 7, 2);
        place(3, 0);
        if (is_first != 0) {
            end_granted(third, 2, 7, 2);
        }
        end_call(going);
        end_call(move);
        expect_all_kept();
        stop_lanes();
    }
}

/* The first is copied away and still there: a later copy takes the new one where it is, whether or
 * not the first was there, too; or several, each of a part of it, which nobody follows. */
TEST(a_block_that_goes_may_be_moved_first)
{
    enum { LATER, TO_THE_SAME_PLACE, IN_PARTS, ROW_COUNT };
    for (int row = LATER; row < ROW_COUNT; row++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, 7, 2);
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const uint32_t going = begin_on(OP_FREE, block);
        const uint32_t new = begin_alloc(2 * G);
        ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
        const uint32_t refused = call_refused(13);
        if (row == TO_THE_SAME_PLACE) {
            ck_assert_int_eq(copy(0, 12, 2), DEVICE_OK);
        }
        ck_assert_int_eq(copy(7, 12, row == IN_PARTS ? 1 : 2), DEVICE_OK);
        if (row == IN_PARTS) {
            ck_assert_int_eq(copy(8, 13, 1), DEVICE_OK);
        }
        end_granted(new, 3, 7, 2);
        place(3, 12);
        end_call(going);
        end_call(move);
        JUDGED(&rig.verdicts[refused], VERDICT_JUSTIFIED);
        KEEPS(&rig.verdicts[new]);
        KEEPS(&rig.verdicts[move]);
        stop_lanes();
    }
}

/* Nobody can be asked where it would be, but something was copied to its place before it returned:
 * so it had left. */
TEST(a_new_block_that_was_freed_may_have_been_copied_away)
{
    start_lanes(DEFRAG_SLIDE);
    const uint32_t block = make_block(1, 7, 2);
    make_block(2, 10, 2);
    const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
    const uint32_t going = begin_on(OP_FREE, block);
    const uint32_t new = begin_alloc(2 * G);
    ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
    ck_assert_int_eq(copy(10, 7, 2), DEVICE_OK);
    place(2, 7);
    end_granted(new, 3, 7, 2);
    call_on(OP_FREE, new);
    end_call(going);
    end_call(move);
    expect_all_kept();
    stop_lanes();
}

/* A block that goes is copied out of the way of another one, which leaves again; then something
 * gets the place that could not be what was copied first.  Both blocks are there all the time. */
TEST(what_cannot_have_been_copied_came_later)
{
    enum { PROGRAM, STAYS, LARGER, LOWER, ROW_COUNT };
    const struct {
        uint64_t at, size, final;
    } rows[ROW_COUNT] = {
        [PROGRAM] = {7, 2, 7},
        [STAYS] = {7, 2, 7},
        [LARGER] = {7, 3, 12},
        [LOWER] = {6, 2, 12},
    };
    for (size_t i = 0; i < ROW_COUNT; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, 7, 2);
        make_block(2, 10, 2);
        const uint32_t program = i == PROGRAM ? evict_program(4) : 0;
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        const uint32_t going = begin_on(OP_FREE, block);
        const uint32_t new = i == PROGRAM ? begin_on(OP_EXECUTE, program)
                                          : begin_alloc(rows[i].size * G);
        ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
        ck_assert_int_eq(copy(10, 7, 2), DEVICE_OK);
        const uint32_t refused = call_refused(13);
        ck_assert_int_eq(copy(7, 14, 2), DEVICE_OK);
        place(2, 14);
        end_call(going);
        if (rows[i].final != rows[i].at) {
            ck_assert_int_eq(copy(rows[i].at, 10, rows[i].size), DEVICE_OK);
        }
        end_granted(new, 3, rows[i].at, rows[i].size);
        place(3, rows[i].final == 12 ? 10 : rows[i].final);
        end_call(move);
        JUDGED(&rig.verdicts[refused], VERDICT_JUSTIFIED);
        KEEPS(&rig.verdicts[new]);
        KEEPS(&rig.verdicts[move]);
        stop_lanes();
    }
}

/* --- holds --- */

/* A held block moves: a release that is under way may explain it. */
TEST(a_held_block_may_move_once_its_last_hold_is_released)
{
    const struct {
        unsigned holds, releases;
        enum target_result result;
        enum rule rule;
    } rows[] = {
        {1, 1, TARGET_OK, RULE_NONE},       {2, 2, TARGET_OK, RULE_NONE},
        {2, 1, TARGET_OK, RULE_HELD_MOVED}, {1, 1, TARGET_FAILED, RULE_HELD_MOVED},
        {1, 0, TARGET_OK, RULE_HELD_MOVED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_SLIDE);
        const uint32_t block = make_block(1, 7, 2);
        const uint32_t other = make_block(2, 12, 2);
        uint32_t releases[3] = {0};
        call_on(OP_HOLD, other);
        for (unsigned k = 0; k < rows[i].holds; k++) {
            call_on(OP_HOLD, block);
        }
        const uint32_t move = begin_on(OP_DEFRAGMENT, 0);
        releases[0] = begin_on(OP_RELEASE, other);
        for (unsigned k = 1; k <= rows[i].releases; k++) {
            releases[k] = begin_on(OP_RELEASE, block);
        }
        ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
        place(1, 0);
        for (unsigned k = 0; k <= rows[i].releases; k++) {
            script.result = k == 0 ? TARGET_OK : rows[i].result;
            strike(FAULT_COPY);
            end_call(releases[k]);
        }
        end_call(move);
        if (rows[i].rule == RULE_NONE) {
            expect_all_kept();
        } else {
            ck_assert_int_eq(rig.verdicts[releases[0]].rule, rows[i].rule);
        }
        stop_lanes();
    }
}
