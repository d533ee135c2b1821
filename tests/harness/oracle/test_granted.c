/* What a call was granted is proved as strictly as what it was refused. */
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

static const struct verdict *alloc_aligned_at(uint64_t at, uint64_t size, uint8_t align_log2)
{
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = size * G;
    op.align_log2 = align_log2;
    script.block = (struct target_block){next_handle(), at * G, size * G};
    return step(op);
}

/* A loaded program of four granules at 0, a block of four at 4, and a held granule at 8. */
static void fill_below_8(bool program_evicts_program)
{
    prepare();
    script.contract.defrag = DEFRAG_REPACK;
    script.contract.program_evicts_program = program_evicts_program;
    start_hosts(1);
    KEEPS(load_at(0, 4, 0));
    KEEPS(alloc_at(4, 4));
    KEEPS(alloc_at(8, 1));
    KEEPS(on(OP_HOLD, 2));
}

/* Five granules are free in all, and the lowest block that may not move is at 8.  But above a stack
 * of five granules there are spans of three and of seven for blocks of four, four and two. */
TEST(a_stack_below_every_bound_must_have_a_packing)
{
    fill_below_8(false);
    KEEPS(load_at(9, 2, 4));
    stop();
    fill_below_8(false);
    const struct verdict *verdict = load_at(9, 2, 5);
    BREAKS(verdict, RULE_STATUS);
    ck_assert_ptr_nonnull(strstr(verdict->reason, "no packing"));
    stop();
}

TEST(a_stack_may_count_on_programs_that_its_class_evicts)
{
    fill_below_8(true);
    KEEPS(load_at(9, 2, 8));
    stop();
    fill_below_8(true);
    BREAKS(load_at(9, 2, 9), RULE_STATUS);
    stop();
}

/* A queued free in the place of the stack itself is one of them. */
TEST(a_stack_may_count_on_the_place_of_a_queued_free)
{
    for (int drains = 0; drains < 2; drains++) {
        prepare();
        script.contract.drains = drains != 0;
        start_hosts(1);
        KEEPS(alloc_at(0, 4));
        KEEPS(on_for(OP_FREE_AFTER, 0, 1000));
        const struct verdict *verdict = load_at(8, 2, 4);
        ck_assert_int_eq(verdict->rule, drains != 0 ? RULE_NONE : RULE_STATUS);
        stop();
    }
}

/* Without the queued free at 12 there are seven granules in one piece. */
TEST(a_stack_may_count_on_frees_that_are_awaited)
{
    for (int drains = 0; drains < 2; drains++) {
        prepare();
        script.contract.defrag = DEFRAG_REPACK;
        script.contract.drains = drains != 0;
        start_hosts(1);
        KEEPS(alloc_at(0, 4));
        KEEPS(alloc_at(4, 3));
        KEEPS(alloc_at(8, 1));
        KEEPS(on(OP_HOLD, 2));
        KEEPS(alloc_at(12, 1));
        KEEPS(on_for(OP_FREE_AFTER, 4, 1000));
        const struct verdict *verdict = load_at(9, 2, 5);
        ck_assert_int_eq(verdict->rule, drains != 0 ? RULE_NONE : RULE_STATUS);
        stop();
    }
}

/* The block at 8 needs a multiple of eight granules: it does not go up with the image. */
TEST(a_stack_is_not_reserved_where_an_alignment_keeps_a_block)
{
    for (uint64_t stack = 8; stack <= 9; stack++) {
        start_with(DEFRAG_SLIDE);
        KEEPS(alloc_at(15, 1));
        KEEPS(on(OP_HOLD, 0));
        KEEPS(alloc_aligned_at(8, 1, 12));
        const struct verdict *verdict = load_at(9, 1, stack);
        ck_assert_msg(verdict->rule == (stack == 8 ? RULE_NONE : RULE_STATUS), "%s",
                      verdict->reason);
        stop();
    }
}

/* --- executions --- */

TEST(an_execution_of_no_duration_had_its_stack_as_well)
{
    for (uint64_t delay_ns = 0; delay_ns <= 1000; delay_ns += 1000) {
        start();
        KEEPS(alloc_at(0, 2));
        KEEPS(load_at(8, 2, 1));
        BREAKS(execute(1, delay_ns), RULE_OVERLAP);
        stop();
        start();
        KEEPS(alloc_at(1, 2));
        KEEPS(load_at(8, 2, 1));
        KEEPS(execute(1, delay_ns));
        stop();
    }
}
