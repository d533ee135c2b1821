/* Lists that ask the same of every target, and what they need. */
#include "measure/judged.h"
#include "measure/needs.h"
#include "tests/helpers/suite.h"
#include "tests/measure/drawn.h"

#include <stdlib.h>

TEST(the_peak_is_what_is_asked_for_and_not_freed)
{
    struct setup setup;
    struct op_list ops;
    op_list_init(&ops);
    ck_assert_uint_eq(list_peak_find(&ops).op, OP_NONE);
    read_list("0: alloc size=100\n1: alloc size=50\n2: free block=0\n"
              "3: free block=0\n" /* again: nothing more goes */
              "4: output size=99\n"
              "5: donate block=4 size=10\n" /* the block stays as large as it is */
              "6: alloc size=2\n7: free_after block=5 delay=0ns\n8: alloc size=90\n",
              &setup, &ops);
    const struct needs_peak peak = list_peak_find(&ops);
    ck_assert_uint_eq(peak.bytes, 151);
    ck_assert_uint_eq(peak.op, 6);
    op_list_deinit(&ops);
}

TEST(a_drawn_list_is_the_same_each_time_and_names_only_what_it_has, .to = DRAWN_COUNT)
{
    struct op_list first, second;
    draw(_i, 1, 4000, &first);
    draw(_i, 1, 4000, &second);
    ck_assert_uint_gt(first.count, 50);
    ck_assert_uint_eq(first.count, second.count);
    for (size_t i = 0; i < first.count; i++) {
        const struct op *op = &first.ops[i];
        ck_assert(op_equal(op, &second.ops[i]));
        ck_assert(op->kind == OP_ALLOC || op->kind == OP_FREE || op->kind == OP_FREE_AFTER ||
                  op->kind == OP_COMPLETE || op->kind == OP_ADVANCE);
        if (op->kind == OP_FREE || op->kind == OP_FREE_AFTER) {
            ck_assert_uint_lt(op->ref, i);
            ck_assert_int_eq(first.ops[op->ref].kind, OP_ALLOC);
        }
        ck_assert_uint_eq(op->align_log2, 0);
    }
    op_list_deinit(&first);
    op_list_deinit(&second);
}

/* So that what a target refuses of it is lost to placement or rounding. */
TEST(a_drawn_list_fits_where_any_free_granules_will_do, .to = DRAWN_COUNT)
{
    struct op_list ops;
    struct setup setup;
    draw(_i, 1, 4000, &ops);
    setup_init(&setup);
    setup.capacity_bytes = CAPACITY_BYTES;
    setup.granule_bytes = 512;
    ck_assert_uint_eq(judged_first_refused(&target_paged, &setup, &ops), ops.count);
    ck_assert_uint_le(list_peak_find(&ops).bytes, CAPACITY_BYTES);
    op_list_deinit(&ops);
}
