/* Trimming makes lists shorter and numbers simpler, keeps what is told to be as good, and ends. */
#include "fuzz/mutate/mutate.h"
#include "tests/fuzz/fuzz_lists.h"
#include "tests/helpers/suite.h"

static struct input input;
static struct trim trim;

static void set_up(void)
{
    input_init(&input);
    trim_init(&trim);
    known_input(&input, KNOWN_MARK);
}

static void tear_down(void)
{
    trim_deinit(&trim);
    input_deinit(&input);
}

/* Lets the trim go on until it ends. */
static void trim_all(bool (*is_as_good)(const struct input *candidate))
{
    size_t length = input_encode(&input, NULL, 0);
    size_t count = 0;
    trim_begin(&trim, &input);
    for (const struct input *next = trim_next(&trim); next != NULL; next = trim_next(&trim)) {
        const bool is_good = is_as_good(next);
        ck_assert_uint_le(input_encode(next, NULL, 0), length);
        ck_assert_uint_le(++count, TRIM_STEPS_MAX);
        length = is_good ? input_encode(next, NULL, 0) : length;
        trim_tell(&trim, is_good);
    }
}

/* What names an op goes with it: left without it would be skipped, and take more bytes. */
static void check_names(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        ck_assert(ops->ops[i].kind != OP_FREE_AFTER || ops->ops[i].ref < i);
    }
}

static bool frees_block_seven(const struct input *candidate)
{
    const struct op_list *ops = &candidate->ops;
    check_names(ops);
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if (op->kind == OP_FREE_AFTER && op->ref < i && (ops->ops[op->ref].tag & 15) == 7) {
            return true;
        }
    }
    return false;
}

EVERY_TEST(.setup = set_up, .teardown = tear_down);

TEST(what_is_left_is_one_block_and_its_free)
{
    trim_all(frees_block_seven);
    ck_assert_uint_eq(trim.best.ops.count, 2);
    ck_assert(frees_block_seven(&trim.best));
    ck_assert_uint_eq(trim.best.ops.ops[0].size_bytes,
                      4096); /* eight granules were a power of two already */
    ck_assert(trim.best.ops.ops[1].delay_ns == 0);
}

static bool is_never_as_good(const struct input *candidate)
{
    (void)candidate;
    return false;
}

TEST(where_nothing_may_change_the_input_stays)
{
    size_t at = 0;
    trim_all(is_never_as_good);
    ck_assert_uint_eq(differing_ops(&trim.best.ops, &input.ops, &at), 0);
    ck_assert_uint_gt(trim.step_count, input.ops.count);
}

static bool is_always_as_good(const struct input *candidate)
{
    (void)candidate;
    return true;
}

TEST(where_anything_goes_nothing_is_left)
{
    trim_all(is_always_as_good);
    ck_assert_uint_eq(trim.best.ops.count, 0);
    ck_assert_uint_lt(trim.step_count, input.ops.count);
}

TEST(an_empty_list_has_no_steps)
{
    op_list_clear(&input.ops);
    trim_begin(&trim, &input);
    ck_assert_ptr_null(trim_next(&trim));
}

TEST(of_a_long_list_steps_are_bounded)
{
    for (int i = 0; i < 200; i++) {
        const struct op op = op_make(OP_REPORT);
        op_list_append(&input.ops, &op);
    }
    trim_all(is_never_as_good);
    ck_assert_uint_eq(trim.step_count, TRIM_STEPS_MAX);
}
