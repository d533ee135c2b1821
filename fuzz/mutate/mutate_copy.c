#include "fuzz/mutate/mutate_draw.h"

enum { REPEAT_OPS_MAX = 24, REPEAT_COUNT_MAX = 32 };

/* Shifts a reference in a copy that stands at `at`: inside of the copied run it names the copy, and
 * in the same list what it named. false: it can name nothing here. */
static bool shift_reference(uint32_t *reference, const struct part *part, size_t at,
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
static void block_copy(struct editing *editing, const struct op_list *from, const struct part *part,
                       size_t at, size_t grows_by)
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
    struct part part;
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
    struct part part;
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
    struct part part;
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
    struct part part = {.first = (size_t)random_below(editing->random, other_count)};
    part.count = other_count - part.first;
    const size_t front = draw_place(editing);
    if (front + part.count > editing->op_count_max) {
        return false;
    }
    block_copy(editing, &editing->other->ops, &part, front, part.count);
    ops->count = front;
    return block_insert(editing, front);
}

const struct edit copy_edits[] = {
    {"duplicate", 6, duplicate_ops},
    {"repeat", 5, repeat_ops},
    {"splice", 6, splice_ops},
    {"join", 3, join_ops},
    {0},
};
