/* What is said of calls that overlap. */
#include "harness/run/run_state.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* --- effects in flight --- */

/* Fourteen granules are free, seven on either side of the block: they do only if it moves. */
TEST(a_call_under_way_may_have_pinned_its_block_already)
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

/* A block of two granules, and a program that needs a stack of four.  Eight granules fit above both
 * where the stack is not reserved, and nowhere where it is.  While the block is still in its way, a
 * reserved stack is no moment's: then the refusal is not judged. */
TEST(a_stack_over_a_block_excuses_a_refusal_without_a_verdict)
{
    for (uint64_t at = 2; at <= 5; at += 3) {
        start_lanes(DEFRAG_SLIDE);
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = 2 * G;
        script.block = (struct target_block){1, at * G, 2 * G};
        end_call(begin_call(op));
        op = op_make(OP_LOAD);
        op.size_bytes = 2 * G;
        op.stack_bytes = 4 * G;
        const uint32_t load = begin_call(op);
        script.block = (struct target_block){2, 12 * G, 2 * G};
        end_call(load);
        op = op_make(OP_EXECUTE);
        op.ref = load;
        op.delay_ns = 1000;
        const uint32_t execution = begin_call(op);
        op = op_make(OP_ALLOC);
        op.size_bytes = 8 * G;
        const uint32_t request = begin_call(op);
        script.result = TARGET_NO_MEMORY;
        end_call(request);
        script.result = TARGET_NO_MEMORY;
        end_call(execution);
        JUDGED(&rig.verdicts[request], at == 2 ? VERDICT_NONE : VERDICT_JUSTIFIED);
        stop_lanes();
    }
}

/* --- bounds --- */

static void copy_out_of_the_device(void)
{
    ck_assert_int_eq(copy(7, 15, 2), DEVICE_REFUSED);
}

static void copy_inside_the_device(void)
{
    ck_assert_int_eq(copy(7, 14, 2), DEVICE_OK);
}

TEST(no_overlapping_call_copies_out_of_the_device)
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
        ck_assert_int_eq(rig.is_good, is_outside == 0);
        stop_lanes();
    }
}

/* While calls overlap only the image itself is in the way of its stack for certain. */
TEST(no_overlapping_load_gets_a_stack_that_nothing_leaves_room_for)
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

/* --- going on --- */

TEST(an_overlap_goes_on_behind_a_premature_refusal)
{
    start_lanes_that_go_on();
    make_block_at_7();
    const uint32_t refused = begin_alloc(3 * G);
    const uint32_t wrong = begin_alloc(2 * G);
    end_refused(refused, TARGET_NO_MEMORY, "no room");
    end_granted(wrong, 2, 8, 2);
    JUDGED(&rig.verdicts[refused], VERDICT_PREMATURE);
    ck_assert_ptr_nonnull(strstr(rig.verdicts[refused].reason, "; meanwhile lane "));
    BREAKS(&rig.verdicts[wrong], RULE_OVERLAP);
    ck_assert(run_is_broken(script.run));
    ck_assert_uint_eq(run_findings(script.run)->count, 2);
    ck_assert_uint_eq(run_totals(script.run)->premature, 1);
    stop_lanes();
}

/* A block takes its place as soon as that is free: before its call returns, and others do. */
TEST(a_block_that_is_too_large_is_told_for_its_own_call)
{
    for (int is_last = 0; is_last < 2; is_last++) {
        start_lanes_that_go_on();
        make_block_at_7();
        const uint32_t large = begin_alloc(2 * G);
        const uint32_t other = begin_alloc(G);
        if (is_last == 0) {
            end_granted(large, 2, 0, 5);
        }
        end_granted(other, 3, 15, 1);
        if (is_last != 0) {
            end_granted(large, 2, 0, 5);
        }
        BREAKS(&rig.verdicts[large], RULE_TOO_LARGE);
        KEEPS(&rig.verdicts[other]);
        ck_assert(!run_is_broken(script.run));
        ck_assert_uint_eq(run_totals(script.run)->broken, 1);
        /* The model has the block as it is, and judges by what was promised. */
        ck_assert_uint_eq(model_in_use_bytes(run_model(script.run, 0)), 8 * G);
        const uint32_t refused = begin_alloc(10 * G);
        const uint32_t touch = begin_alloc(G);
        end_refused(refused, TARGET_NO_MEMORY, "no room");
        end_granted(touch, 4, 14, 1);
        JUDGED(&rig.verdicts[refused], VERDICT_PREMATURE);
        stop_lanes();
    }
}

/* The block takes the place of one that is being freed, and of more than it may have. */
TEST(what_a_block_has_beyond_its_contract_justifies_no_refusal)
{
    start_lanes_that_go_on();
    make_block_at_7();
    struct op op = op_make(OP_FREE);
    op.ref = 0;
    const uint32_t freeing = begin_call(op);
    const uint32_t large = begin_alloc(2 * G);
    const uint32_t refused = begin_alloc(14 * G);
    end_refused(refused, TARGET_NO_MEMORY, "no room");
    end_granted(large, 2, 7, 5);
    end_call(freeing);
    JUDGED(&rig.verdicts[refused], VERDICT_PREMATURE);
    BREAKS(&rig.verdicts[large], RULE_TOO_LARGE);
    stop_lanes();
}

TEST(a_refusal_that_breaks_a_rule_beside_its_verdict_counts_once)
{
    start_lanes_that_go_on();
    make_block_at_7();
    const uint32_t mute = begin_alloc(15 * G);
    const uint32_t other = begin_alloc(G);
    end_refused(mute, TARGET_NO_MEMORY, "");
    end_granted(other, 2, 15, 1);
    BREAKS(&rig.verdicts[mute], RULE_MESSAGE);
    const uint32_t invalid = begin_alloc(0);
    const uint32_t again = begin_alloc(G);
    end_refused(invalid, TARGET_NO_MEMORY, "no room");
    end_granted(again, 3, 14, 1);
    BREAKS(&rig.verdicts[invalid], RULE_STATUS);
    KEEPS(&rig.verdicts[other]);
    KEEPS(&rig.verdicts[again]);
    const struct run_totals *totals = run_totals(script.run);
    ck_assert_uint_eq(totals->ooms, 2);
    ck_assert_uint_eq(totals->justified, 1);
    ck_assert_uint_eq(totals->excused, 1);
    ck_assert_uint_eq(totals->broken, 2);
    ck_assert(!run_is_broken(script.run));
    stop_lanes();
}

/* What is wrong when no call is under way is told for the last that returned. */
TEST(a_wrong_counter_behind_a_skipped_call_counts)
{
    start_lanes_that_go_on();
    make_block_at_7();
    struct op nothing = op_make(OP_FREE);
    nothing.ref = CALL_COUNT_MAX - 1;
    const uint32_t skipped = begin_call(nothing);
    const uint32_t other = begin_alloc(G);
    script.stats_more.num_allocs = 1;
    end_granted(other, 2, 15, 1);
    ck_assert(rig.calls[skipped].skipped);
    end_call(skipped);
    BREAKS(&rig.verdicts[skipped], RULE_COUNTERS);
    ck_assert_uint_eq(run_totals(script.run)->broken, 1);
    ck_assert_uint_eq(run_findings(script.run)->count, 1);
    ck_assert(!run_is_broken(script.run));
    /* It is told once. */
    const uint32_t first = begin_alloc(G);
    const uint32_t second = begin_alloc(G);
    end_granted(first, 3, 14, 1);
    end_granted(second, 4, 13, 1);
    KEEPS(&rig.verdicts[second]);
    stop_lanes();
}

/* What the target took the block for nobody knows. */
TEST(a_result_for_a_size_that_is_never_right_ends_the_run)
{
    start_lanes_that_go_on();
    make_block_at_7();
    const uint32_t invalid = begin_alloc(0);
    const uint32_t other = begin_alloc(G);
    end_granted(invalid, 2, 0, 1);
    end_granted(other, 3, 15, 1);
    BREAKS(&rig.verdicts[invalid], RULE_STATUS);
    KEEPS(&rig.verdicts[other]); /* nothing was said of it */
    ck_assert(run_is_broken(script.run));
    stop_lanes();
}

/* --- failures --- */

static void grow_block(void)
{
    script.at[1].size_bytes = 3 * G;
}

static void leave_stage(void)
{
    uint64_t stage = 0;
    const struct device_services *device = script.device[0];
    ck_assert_int_eq(device->stage_out(device->context, 7 * G, 2 * G, &stage), DEVICE_OK);
}

static void move_block(void)
{
    ck_assert_int_eq(copy(7, 0, 2), DEVICE_OK);
    script.at[1].address = 0;
}

/* An out-of-memory, or a request that can never be right. */
static uint32_t begin_refused(uint64_t size)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size * G;
    return begin_call(op);
}

static void end_failed(uint32_t number, void (*act)(void))
{
    script.act = act;
    script.result = rig.calls[number].op.size_bytes == 0 ? TARGET_INVALID : TARGET_NO_MEMORY;
    end_call(number);
}

/* Two calls that overlap: what the first leaves is known to be of a failure only if both fail, and
 * what it moved to be needless only if neither may move. */
TEST(calls_that_overlap_and_all_fail_change_nothing)
{
    const struct {
        void (*act)(void);
        uint64_t sizes[2]; /* 1: granted */
        enum rule rule;
    } rows[] = {
        {grow_block, {16, 16}, RULE_FAILED_CHANGED},
        {grow_block, {16, 0}, RULE_FAILED_CHANGED},
        {grow_block, {16, 1}, RULE_NONE},
        {leave_stage, {16, 16}, RULE_FAILED_CHANGED},
        {leave_stage, {16, 1}, RULE_NONE},
        {move_block, {0, 0}, RULE_FAILED_CHANGED},
        {move_block, {0, 16}, RULE_NONE},
        {move_block, {0, 1}, RULE_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_lanes(DEFRAG_REPACK);
        make_block_at_7();
        const uint32_t first = begin_refused(rows[i].sizes[0]);
        const uint32_t second = begin_refused(rows[i].sizes[1]);
        end_failed(first, rows[i].act);
        if (rows[i].sizes[1] == 1) {
            script.block = (struct target_block){3, 15 * G, G};
            end_call(second);
        } else {
            end_failed(second, NULL);
        }
        const struct verdict *verdict = &rig.verdicts[second];
        ck_assert_msg(verdict->rule == rows[i].rule, "row %zu: %s, %s", i,
                      rule_info(verdict->rule)->name, verdict->reason);
        stop_lanes();
    }
}
