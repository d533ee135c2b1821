/* The table of remedies, and the steps that they see.  What each does to a list is in
 * tests/snap/diagnosis_remedies.snap. */
#include "diagnosis/remedy.h"
#include "tests/diagnosis/remedy_lists.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <ctype.h>
#include <string.h>

/* --- the table --- */

TEST(every_remedy_has_a_name_of_its_own_and_says_what_it_assumes)
{
    ck_assert_ptr_nonnull(remedies[0]);
    for (size_t i = 0; remedies[i] != NULL; i++) {
        const struct remedy *remedy = remedies[i];
        ck_assert_ptr_eq(remedy_find(remedy->name), remedy);
        for (const char *c = remedy->name; *c != '\0'; c++) {
            ck_assert(islower((unsigned char)*c) || *c == '-');
        }
        ck_assert_uint_gt(strlen(remedy->summary), 8);
        ck_assert_int_eq(remedy->assumes[strlen(remedy->assumes) - 1], '.');
        ck_assert(remedy->search == REMEDY_EACH || remedy->parameter != NULL);
        ck_assert_ptr_nonnull(remedy->apply);
    }
    ck_assert_ptr_null(remedy_find("prayer"));
}

/* --- steps --- */

TEST(a_step_begins_where_the_least_is_live)
{
    struct remedy_list list;
    remedy_list_steps(&list, 6);
    const struct remedy_steps *steps = &list.given.steps;
    ck_assert_uint_ge(steps->count, 5);
    ck_assert_uint_eq(steps->length, 9);
    for (size_t i = 0; i < steps->count; i++) {
        ck_assert_uint_eq((steps->bounds[i] - 2) % 9, 0);
    }
    for (uint32_t i = 2 + 9; i < list.given.ops->count; i++) {
        const struct op *op = &list.given.ops->ops[i];
        if (list.given.lives.lives[i].root == i) {
            ck_assert_msg(steps->is_of_step[i] == (op->tag != 5), "op %u of tag %u", i, op->tag);
        }
    }
    ck_assert(!steps->is_of_step[0]);
    remedy_list_deinit(&list);
}

TEST(a_list_cut_off_in_a_step_says_what_its_last_blocks_are)
{
    struct remedy_list list;
    remedy_list_steps(&list, 6);
    struct op_list ops;
    op_list_init(&ops);
    op_list_copy(&ops, list.given.ops);
    const struct setup setup = list.base.setup;
    remedy_list_deinit(&list);
    ops.count -= 6; /* batch and activations are live */
    remedy_list_take(&list, &setup, &ops);
    ck_assert_uint_gt(list.given.steps.count, 0);
    ck_assert(list.given.steps.is_of_step[ops.count - 1]);
    ck_assert(list.given.steps.is_of_step[ops.count - 3]);
    op_list_deinit(&ops);
    remedy_list_deinit(&list);
}
