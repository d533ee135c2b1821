#include "fuzz/mutate/mutate_draw.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

enum { INSERT_COUNT_MAX = 6 };

/* --- insert, delete --- */

static bool insert_ops(struct editing *editing)
{
    for (size_t left = draw_count(editing->random, INSERT_COUNT_MAX); left > 0; left--) {
        (void)block_draw(editing, draw_kind(editing->random));
    }
    return block_insert(editing, draw_place(editing));
}

static bool has_reference_to_part(const struct op *op, const struct list_part *part)
{
    return (op->flags & OP_RELATIVE) == 0 && op->kind != OP_SWITCH &&
           ((op->ref != OP_NONE && op->ref - part->first < part->count) ||
            (op->event != OP_NONE && op->event - part->first < part->count));
}

/* Deletes ops.  An op that named a deleted one acts on another one: an op that is skipped would
 * only make the list longer. */
static bool delete_ops(struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    struct list_part part;
    if (!draw_part(editing, ops, &part)) {
        return false;
    }
    bool *keep = malloc(ops->count * sizeof *keep);
    CHECK(keep != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        keep[i] = i - part.first >= part.count;
        if (keep[i] && has_reference_to_part(&ops->ops[i], &part)) {
            op_loosen(&ops->ops[i]);
        }
    }
    op_list_filter(ops, keep);
    free(keep);
    return true;
}

/* --- the same ops in another order --- */

/* The op that was number order[i] becomes number i; references keep naming what they named. */
static void reorder_ops(struct op_list *ops, const size_t *order)
{
    struct op *before = malloc(ops->count * sizeof *before);
    uint32_t *numbers = malloc(ops->count * sizeof *numbers);
    CHECK(before != NULL && numbers != NULL);
    memcpy(before, ops->ops, ops->count * sizeof *before);
    for (size_t i = 0; i < ops->count; i++) {
        numbers[order[i]] = (uint32_t)i;
    }
    for (size_t i = 0; i < ops->count; i++) {
        struct op op = before[order[i]];
        if ((op.flags & OP_RELATIVE) == 0) {
            op.ref = op.ref < ops->count ? numbers[op.ref] : op.ref;
            op.event = op.event < ops->count ? numbers[op.event] : op.event;
        }
        ops->ops[i] = op;
    }
    free(before);
    free(numbers);
}

/* A run goes to another place. */
static bool move_ops(struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    struct list_part part;
    if (!draw_part(editing, ops, &part) || part.count == ops->count) {
        return false;
    }
    const size_t to = (size_t)random_below(editing->random, ops->count - part.count + 1);
    size_t *order = malloc(ops->count * sizeof *order);
    CHECK(order != NULL);
    size_t from = 0; /* the next of the others */
    for (size_t i = 0; i < ops->count; i++) {
        from = from == part.first ? part.first + part.count : from;
        order[i] = i - to < part.count ? part.first + (i - to) : from++;
    }
    reorder_ops(ops, order);
    free(order);
    return true;
}

static bool swap_ops(struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    if (ops->count < 2) {
        return false;
    }
    size_t *order = malloc(ops->count * sizeof *order);
    CHECK(order != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        order[i] = i;
    }
    const size_t one = (size_t)random_below(editing->random, ops->count);
    const size_t other = (one + 1 + (size_t)random_below(editing->random, ops->count - 1)) %
                         ops->count;
    order[one] = other;
    order[other] = one;
    reorder_ops(ops, order);
    free(order);
    return true;
}

/* --- one op --- */

static bool has_reference(const struct op *op)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    return info->has_block || info->has_program || (info->has_event && op->event != OP_NONE);
}

static bool has_absolute_reference(const struct op *op)
{
    return (op->flags & OP_RELATIVE) == 0 && has_reference(op);
}

static bool loosen_ops(struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    size_t at = 0;
    if (!draw_op_where(editing, ops->count, has_absolute_reference, &at)) {
        return false;
    }
    for (size_t left = draw_count(editing->random, ops->count - at); left > 0; left--, at++) {
        if (has_absolute_reference(&ops->ops[at])) {
            op_loosen(&ops->ops[at]);
        }
    }
    return true;
}

/* Another op of a kind that has the same fields. */
static uint8_t draw_sibling_kind(enum op_kind kind, struct random *random)
{
    static const uint8_t naming_blocks[] = {OP_FREE, OP_HOLD, OP_RELEASE, OP_TOUCH};
    const bool names_block = kind == OP_FREE || kind == OP_HOLD || kind == OP_RELEASE ||
                             kind == OP_TOUCH;
    return names_block             ? naming_blocks[random_below(random, sizeof naming_blocks)]
           : kind == OP_ALLOC      ? OP_OUTPUT
           : kind == OP_OUTPUT     ? OP_ALLOC
           : kind == OP_FREE_AFTER ? OP_USE
           : kind == OP_USE        ? OP_FREE_AFTER
                                   : (uint8_t)kind;
}

/* One field of the op as a newly drawn one has it. */
static void take_field(const struct editing *editing, struct op *op)
{
    const struct op drawn = draw_op(editing, (enum op_kind)op->kind);
    const uint64_t way = random_below(editing->random, 6);
    if (way == 0) { /* what it names */
        op->ref = drawn.ref;
        op->event = drawn.event;
        op->flags = (uint8_t)((op->flags & ~OP_RELATIVE) | (drawn.flags & OP_RELATIVE));
        op->delay_ns = drawn.delay_ns;
    } else if (way == 1) { /* how much */
        op->size_bytes = drawn.size_bytes;
        op->flags = (uint8_t)((op->flags & ~OP_FITTED) | (drawn.flags & OP_FITTED));
    } else if (way == 2) { /* how long, or the second amount */
        op->delay_ns = op->event == OP_NONE ? drawn.delay_ns : 0;
    } else if (way == 3) {
        op->align_log2 = drawn.align_log2;
    } else if (way == 4) {
        op->kind = draw_sibling_kind((enum op_kind)op->kind, editing->random);
    } else {
        op->tag = drawn.tag;
        op->lane = drawn.lane;
        op->host = drawn.host;
    }
}

static bool change_op(struct editing *editing)
{
    enum { TRIES = 8 };
    struct op_list *ops = &editing->input->ops;
    if (ops->count == 0) {
        return false;
    }
    struct op *op = &ops->ops[random_below(editing->random, ops->count)];
    const struct op before = *op;
    for (int i = 0; i < TRIES && op->kind != OP_SWITCH && op_equal(op, &before); i++) {
        take_field(editing, op);
    }
    return !op_equal(op, &before);
}

/* --- ops that are there already, or in the other input --- */

enum { REPEAT_OPS_MAX = 24, REPEAT_COUNT_MAX = 32 };

/* Shifts a reference in a copy that stands at `at`: inside of the copied run it names the copy, and
 * in the same list what it named. false: it can name nothing here. */
static bool shift_reference(uint32_t *reference, const struct list_part *part, size_t at,
                            size_t grows_by, bool is_same_list)
{
    if (*reference == OP_NONE) {
        return true;
    }
    if (*reference - part->first < part->count) {
        *reference = (uint32_t)(at + (*reference - part->first));
        return true;
    }
    *reference += *reference >= at ? (uint32_t)grows_by : 0;
    return is_same_list;
}

/* Appends to the block a copy of a run that will stand at `at`; the list grows there by grows_by in
 * all. */
static void block_copy(struct editing *editing, const struct op_list *from,
                       const struct list_part *part, size_t at, size_t grows_by)
{
    const bool is_same_list = from == &editing->input->ops;
    const size_t start = at + editing->block.count;
    for (size_t i = 0; i < part->count; i++) {
        struct op op = from->ops[part->first + i];
        const struct op original = op;
        if ((op.flags & OP_RELATIVE) == 0 && op.kind != OP_SWITCH) {
            const bool has_ref = shift_reference(&op.ref, part, start, grows_by, is_same_list);
            const bool has_event = shift_reference(&op.event, part, start, grows_by, is_same_list);
            if (!has_ref || !has_event) {
                op = original;
                op_loosen(&op);
            }
        }
        op.lane = (uint8_t)(op.lane % editing->input->lane_count);
        op.host = (uint8_t)(op.host % editing->input->setup.host_count);
        op_list_append(&editing->block, &op);
    }
}

static bool duplicate_ops(struct editing *editing)
{
    struct list_part part;
    if (!draw_part(editing, &editing->input->ops, &part)) {
        return false;
    }
    const size_t at = draw_place(editing);
    block_copy(editing, &editing->input->ops, &part, at, part.count);
    return block_insert(editing, at);
}

/* A short run again and again, behind itself: what it asks for fills the device, what it does adds
 * up. */
static bool repeat_ops(struct editing *editing)
{
    const struct op_list *ops = &editing->input->ops;
    struct list_part part;
    if (!draw_part(editing, ops, &part) || ops->count + part.count > editing->op_count_max) {
        return false;
    }
    part.count = part.count < REPEAT_OPS_MAX ? part.count : REPEAT_OPS_MAX;
    const size_t room = (editing->op_count_max - ops->count) / part.count;
    const size_t count = draw_count(editing->random,
                                    room < REPEAT_COUNT_MAX ? room : REPEAT_COUNT_MAX);
    const size_t at = part.first + part.count;
    for (size_t i = 0; i < count; i++) {
        block_copy(editing, ops, &part, at, part.count * count);
    }
    return block_insert(editing, at);
}

static bool splice_ops(struct editing *editing)
{
    struct list_part part;
    if (editing->other == NULL || !draw_part(editing, &editing->other->ops, &part)) {
        return false;
    }
    const size_t at = draw_place(editing);
    block_copy(editing, &editing->other->ops, &part, at, part.count);
    return block_insert(editing, at);
}

/* The front of the list, and the back of the other one. */
static bool join_ops(struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    if (editing->other == NULL || editing->other->ops.count == 0) {
        return false;
    }
    const size_t other_count = editing->other->ops.count;
    struct list_part part = {.first = (size_t)random_below(editing->random, other_count)};
    part.count = other_count - part.first;
    const size_t front = draw_place(editing);
    if (front + part.count > editing->op_count_max) {
        return false;
    }
    block_copy(editing, &editing->other->ops, &part, front, part.count);
    ops->count = front;
    return block_insert(editing, front);
}

const struct edit list_edits[] = {
    {"insert", 10, insert_ops},
    {"delete", 10, delete_ops},
    {"move", 4, move_ops},
    {"swap", 3, swap_ops},
    {"loosen", 2, loosen_ops},
    {"change", 12, change_op},
    {"duplicate", 6, duplicate_ops},
    {"repeat", 5, repeat_ops},
    {"splice", 6, splice_ops},
    {"join", 3, join_ops},
    {0},
};
