/* Steps beside ops: as the file says, as the requests repeat, or none. */
#include "harness/base/json.h"
#include "recording/step_axis.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>

static void append(struct op_list *list, enum op_kind kind, uint32_t ref, uint64_t size_bytes)
{
    struct op op = op_make(kind);
    op.ref = ref;
    op.size_bytes = size_bytes;
    op_list_append(list, &op);
}

/* Each step makes two blocks and frees one of them. */
static void make_steps(struct op_list *list, uint32_t step_count, bool frees)
{
    op_list_init(list);
    append(list, OP_ALLOC, OP_NONE, 1 << 20);
    for (uint32_t step = 0; step < step_count; step++) {
        append(list, OP_ALLOC, OP_NONE, 4096);
        append(list, OP_OUTPUT, OP_NONE, 512);
        if (frees) {
            append(list, OP_FREE, (uint32_t)list->count - 2, 0);
        }
    }
}

static struct step_axis axis;
static struct op_list ops;

static void end(void)
{
    snap_rest();
    step_axis_deinit(&axis);
    op_list_deinit(&ops);
}

EVERY_TEST(.teardown = end);

static void show_axis(void)
{
    SHOW(axis.is_said, axis.count);
}

/* The step of an op, as words and as members of a line. */
static void show_step(uint32_t op)
{
    struct writing text = {0}, line = {0};
    step_axis_append(&axis, op, "in ", &text);
    json_open(&line, "row");
    step_axis_add(&axis, op, &line);
    show("op %u: '%s' %s\n", op, writing_string(&text), writing_string(&line));
    writing_deinit(&text);
    writing_deinit(&line);
}

TEST(what_the_file_says_is_the_number)
{
    const struct said said[] = {{2, SAID_STEP, 24030},
                                {2, SAID_IN_USE_BYTES, 5},
                                {7, SAID_STEP, 24031},
                                {7, SAID_FAILED, 0}};
    make_steps(&ops, 20, true);
    step_axis_init(&axis, said, sizeof said / sizeof *said, &ops, 512);
    show_axis();
    show_step(1);
    show_step(2);
    show_step(6);
    show_step(7);
    show_step(60);
}

TEST(where_it_says_nothing_steps_are_seen_where_requests_repeat)
{
    uint64_t number = 0;
    make_steps(&ops, 20, true);
    step_axis_init(&axis, NULL, 0, &ops, 512);
    show_axis();
    show_step((uint32_t)ops.count - 1);
    ck_assert(step_axis_number(&axis, (uint32_t)ops.count - 1, &number));
    ck_assert_uint_eq(number, axis.count);
}

TEST(a_list_in_which_nothing_ends_has_no_steps)
{
    uint64_t number = 0;
    make_steps(&ops, 20, false);
    step_axis_init(&axis, NULL, 0, &ops, 512);
    show_axis();
    ck_assert(!step_axis_number(&axis, 30, &number));
    ck_assert_uint_eq(step_axis_place(&axis, 30), 0);
}
