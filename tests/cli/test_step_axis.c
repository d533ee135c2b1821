/* Steps beside ops: as the file says, as the requests repeat, or none. */
#include "harness/base/json.h"
#include "recording/step_axis.h"
#include "tests/helpers/suite.h"

#include <string.h>

static void append(struct op_list *ops, enum op_kind kind, uint32_t ref, uint64_t size_bytes)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.size_bytes = size_bytes;
    op_list_append(ops, &op);
}

/* Each step makes two blocks and frees one of them. */
static void make_steps(struct op_list *ops, uint32_t step_count, bool frees)
{
    op_list_init(ops);
    append(ops, OP_ALLOC, OP_NONE, 1 << 20);
    for (uint32_t step = 0; step < step_count; step++) {
        append(ops, OP_ALLOC, OP_NONE, 4096);
        append(ops, OP_OUTPUT, OP_NONE, 512);
        if (frees) {
            append(ops, OP_FREE, (uint32_t)ops->count - 2, 0);
        }
    }
}

static const char *print_step(const struct step_axis *axis, uint32_t op, struct writing *text)
{
    writing_clear(text);
    step_axis_append(axis, op, "in ", text);
    return writing_string(text);
}

TEST(what_the_file_says_is_the_number)
{
    const struct said said[] = {{2, SAID_STEP, 24030},
                                {2, SAID_IN_USE_BYTES, 5},
                                {7, SAID_STEP, 24031},
                                {7, SAID_FAILED, 0}};
    struct step_axis axis;
    struct op_list ops;
    struct writing text;
    make_steps(&ops, 20, true);
    writing_init(&text);
    step_axis_init(&axis, said, sizeof said / sizeof *said, &ops, 512);
    ck_assert(axis.is_said);
    ck_assert_uint_eq(axis.count, 2);
    ck_assert_str_eq(print_step(&axis, 1, &text), "");
    ck_assert_str_eq(print_step(&axis, 2, &text), "in step 24030");
    ck_assert_str_eq(print_step(&axis, 6, &text), "in step 24030");
    ck_assert_str_eq(print_step(&axis, 7, &text), "in step 24031");
    ck_assert_str_eq(print_step(&axis, 60, &text), "in step 24031");
    json_open(&text, "row");
    step_axis_add(&axis, 7, &text);
    ck_assert_ptr_nonnull(strstr(writing_string(&text), "\"step\":24031"));
    ck_assert_ptr_null(strstr(writing_string(&text), "about"));
    writing_deinit(&text);
    step_axis_deinit(&axis);
    op_list_deinit(&ops);
}

TEST(where_it_says_nothing_steps_are_seen_where_requests_repeat)
{
    struct step_axis axis;
    struct op_list ops;
    struct writing text;
    uint64_t number = 0;
    make_steps(&ops, 20, true);
    writing_init(&text);
    step_axis_init(&axis, NULL, 0, &ops, 512);
    ck_assert(!axis.is_said);
    ck_assert_uint_ge(axis.count, 18);
    ck_assert(step_axis_number(&axis, (uint32_t)ops.count - 1, &number));
    ck_assert_uint_eq(number, axis.count);
    ck_assert_ptr_nonnull(strstr(print_step(&axis, (uint32_t)ops.count - 1, &text), "about step "));
    json_open(&text, "row");
    step_axis_add(&axis, (uint32_t)ops.count - 1, &text);
    ck_assert_ptr_nonnull(strstr(writing_string(&text), "\"step_is_about\":true"));
    writing_deinit(&text);
    step_axis_deinit(&axis);
    op_list_deinit(&ops);
}

TEST(a_list_in_which_nothing_ends_has_no_steps)
{
    struct step_axis axis;
    struct op_list ops;
    uint64_t number = 0;
    make_steps(&ops, 20, false);
    step_axis_init(&axis, NULL, 0, &ops, 512);
    ck_assert_uint_eq(axis.count, 0);
    ck_assert(!step_axis_number(&axis, 30, &number));
    ck_assert_uint_eq(step_axis_place(&axis, 30), 0);
    step_axis_deinit(&axis);
    op_list_deinit(&ops);
}
