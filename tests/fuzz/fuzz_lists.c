#include "tests/fuzz/fuzz_lists.h"

#include <check.h>
#include <string.h>

enum { DELAY_STEP = 1000, TAG_MASK = 15 };

void known_input(struct input *input, uint8_t mark)
{
    input->setup.capacity_bytes = 128 << 10;
    op_list_clear(&input->ops);
    for (uint32_t i = 0; i < KNOWN_PAIRS; i++) {
        struct op op = op_make(OP_ALLOC);
        op.size_bytes = 512 * (i + 1);
        op.tag = (uint8_t)(mark | i);
        op_list_append(&input->ops, &op);
    }
    for (uint32_t i = 0; i < KNOWN_PAIRS; i++) {
        struct op op = op_make(OP_FREE_AFTER);
        op.ref = i;
        op.delay_ns = DELAY_STEP * (uint64_t)(mark | i) + 1;
        op_list_append(&input->ops, &op);
    }
}

struct input before, other, after;

void known_set_up(void)
{
    input_init(&before);
    input_init(&other);
    input_init(&after);
    known_input(&before, KNOWN_MARK);
    known_input(&other, KNOWN_MARK_OTHER);
}

void known_tear_down(void)
{
    input_deinit(&before);
    input_deinit(&other);
    input_deinit(&after);
}

uint32_t known_op(const struct op *op)
{
    if (op->kind == OP_ALLOC && op->tag > TAG_MASK) {
        return op->tag;
    }
    const bool is_free = op->kind == OP_FREE_AFTER && op->delay_ns % DELAY_STEP == 1;
    return is_free ? (uint32_t)(op->delay_ns / DELAY_STEP) << 8 : 0;
}

bool known_references_hold(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        const bool names = known_op(op) > UINT8_MAX && (op->flags & OP_RELATIVE) == 0;
        if (names && (op->ref >= ops->count || known_op(&ops->ops[op->ref]) != known_op(op) >> 8)) {
            return false;
        }
    }
    return true;
}

bool known_are_in_order(const struct op_list *few, const struct op_list *many)
{
    size_t k = 0;
    for (size_t i = 0; i < few->count; i++) {
        const uint32_t wanted = known_op(&few->ops[i]);
        while (wanted != 0 && k < many->count && known_op(&many->ops[k]) != wanted) {
            k++;
        }
        if (wanted != 0 && k++ >= many->count) {
            return false;
        }
    }
    return true;
}

size_t known_count(const struct op_list *ops)
{
    size_t count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        count += known_op(&ops->ops[i]) != 0;
    }
    return count;
}

bool edit_copy(const char *name, const struct input *input, const struct input *donor,
               uint64_t seed, struct input *out)
{
    const struct edit *edit = edit_find(name);
    struct editing editing;
    struct random random;
    ck_assert_msg(edit != NULL, "no edit %s", name);
    random_init(&random, seed);
    input_copy(out, input);
    editing_init(&editing, out, &random, 400);
    editing.other = donor;
    const bool applies = edit->apply(&editing);
    editing_deinit(&editing);
    return applies;
}

size_t differing_ops(const struct op_list *a, const struct op_list *b, size_t *at)
{
    size_t count = 0;
    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        if (!op_equal(&a->ops[i], &b->ops[i])) {
            *at = i;
            count++;
        }
    }
    return count;
}
