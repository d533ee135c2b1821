#include "fuzz/mutate/mutate_draw.h"

enum {
    HELD_OPS_MAX = 32,
    LONG_LOW_NS = 1000000, /* longer than most lists last */
    LONG_HIGH_NS = 1000000000,
    AWAITED_LOW_NS = 1000,
    AWAITED_HIGH_NS = 10000000,
};

static uint64_t draw_long_delay(struct random *random)
{
    return random_chance(random, 1, 3)
               ? DELAY_NEVER
               : draw_short_delay(random_log_uniform(random, LONG_LOW_NS, LONG_HIGH_NS));
}

/* Before or behind which op something has to happen: a request where there is one. */
static bool draw_request(const struct editing *editing, size_t *at)
{
    const size_t count = editing->input->ops.count;
    if (draw_op_where(editing, count, draw_is_request, at)) {
        return true;
    }
    *at = count == 0 ? 0 : (size_t)random_below(editing->random, count);
    return count > 0;
}

/* The op names a block that one before `at` made, or any one that is alive on the host of the op
 * that stands there. */
static void name_block(const struct editing *editing, size_t at, struct op *op)
{
    const struct op_list *ops = &editing->input->ops;
    size_t maker = 0;
    if (random_chance(editing->random, 1, 2) &&
        draw_op_where(editing, at, draw_makes_block, &maker)) {
        op->flags &= (uint8_t)~OP_RELATIVE;
        op->ref = (uint32_t)maker;
        op->host = ops->ops[maker].host;
        return;
    }
    op->flags |= OP_RELATIVE;
    op->ref = (uint32_t)random_below(editing->random, UINT16_MAX);
    op->host = at < ops->count ? ops->ops[at].host : 0;
}

/* --- events --- */

/* An op of that kind, before a request or so many ops behind that. */
static bool add_near_request(struct editing *editing, enum op_kind kind, size_t behind)
{
    size_t at = 0;
    if (!draw_request(editing, &at)) {
        return false;
    }
    (void)block_draw(editing, kind);
    return block_insert(editing, at + behind);
}

static bool complete_before(struct editing *editing)
{
    return add_near_request(editing, OP_COMPLETE, 0);
}

static bool complete_after(struct editing *editing)
{
    return add_near_request(editing, OP_COMPLETE, 1);
}

/* Just before a request a block is freed behind an event that is due while the request waits for
 * it. */
static bool complete_during(struct editing *editing)
{
    size_t at = 0;
    if (!draw_op_where(editing, editing->input->ops.count, draw_is_request, &at) ||
        editing->input->ops.count >= editing->op_count_max) {
        return false;
    }
    struct op *freed = block_add(editing, OP_FREE_AFTER);
    name_block(editing, at, freed);
    freed->delay_ns = draw_short_delay(
        random_log_uniform(editing->random, AWAITED_LOW_NS, AWAITED_HIGH_NS));
    struct op *request = &editing->input->ops.ops[at];
    const struct fit more = {.kind = random_chance(editing->random, 1, 2) ? FIT_HOLE : FIT_FREE,
                             .granules = 1};
    request->flags |= OP_FITTED;
    request->size_bytes = fit_pack(&more);
    return block_insert(editing, at);
}

static bool can_be_lost(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->makes_event && op->event == OP_NONE &&
           op->delay_ns != DELAY_NEVER;
}

static bool lose_event(struct editing *editing)
{
    size_t at = 0;
    if (!draw_op_where(editing, editing->input->ops.count, can_be_lost, &at)) {
        return false;
    }
    editing->input->ops.ops[at].delay_ns = DELAY_NEVER;
    return true;
}

static bool has_delay(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->has_delay && op->event == OP_NONE &&
           op->kind != OP_FAULT;
}

/* Two delays of one length: both are due at once. */
static bool copy_delay(struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    size_t to = 0, from = 0;
    if (!draw_op_where(editing, ops->count, has_delay, &to) ||
        !draw_op_where(editing, ops->count, has_delay, &from) ||
        ops->ops[to].delay_ns == ops->ops[from].delay_ns) {
        return false;
    }
    ops->ops[to].delay_ns = ops->ops[from].delay_ns;
    return true;
}

/* --- what cannot move or go --- */

/* A block is held, and mostly given back some ops later. */
static bool hold_block(struct editing *editing)
{
    const size_t count = editing->input->ops.count;
    if (count == 0 || count + 2 > editing->op_count_max) {
        return false;
    }
    const size_t at = 1 + (size_t)random_below(editing->random, count);
    struct op hold = op_make(OP_HOLD);
    name_block(editing, at, &hold);
    if (random_chance(editing->random, 2, 3)) {
        struct op release = hold;
        release.kind = OP_RELEASE;
        op_list_append(&editing->block, &release);
        const size_t span = count - at < HELD_OPS_MAX ? count - at : HELD_OPS_MAX;
        (void)block_insert(editing, at + (size_t)random_below(editing->random, span + 1));
    }
    op_list_append(&editing->block, &hold);
    return block_insert(editing, at);
}

static bool is_load(const struct op *op)
{
    return op->kind == OP_LOAD;
}

/* Just before a request a program starts that runs for long; where none is loaded, one is. */
static bool make_busy(struct editing *editing)
{
    size_t at = 0, load = 0;
    if (!draw_request(editing, &at)) {
        return false;
    }
    const bool has_program = draw_op_where(editing, at, is_load, &load);
    const uint8_t host = editing->input->ops.ops[has_program ? load : at].host;
    if (!has_program) {
        block_draw(editing, OP_LOAD)->host = host;
    }
    struct op *execute = block_add(editing, OP_EXECUTE);
    execute->ref = (uint32_t)(has_program ? load : at);
    execute->host = host;
    execute->delay_ns = draw_long_delay(editing->random);
    return block_insert(editing, at);
}

/* A block is in use for long. */
static bool make_used(struct editing *editing)
{
    size_t at = 0;
    if (!draw_request(editing, &at)) {
        return false;
    }
    struct op *use = block_add(editing, OP_USE);
    name_block(editing, at, use);
    use->delay_ns = draw_long_delay(editing->random);
    return block_insert(editing, at);
}

/* --- what goes wrong --- */

static bool add_fault(struct editing *editing)
{
    return add_near_request(editing, OP_FAULT, 0);
}

static bool retire_range(struct editing *editing)
{
    (void)block_draw(editing, OP_RETIRE);
    return block_insert(editing, draw_place(editing));
}

const struct edit state_edits[] = {
    {"complete_before", 2, complete_before},
    {"complete_after", 2, complete_after},
    {"complete_during", 4, complete_during},
    {"lose", 2, lose_event},
    {"same_delay", 1, copy_delay},
    {"hold", 3, hold_block},
    {"busy", 3, make_busy},
    {"use", 2, make_used},
    {"fault", 4, add_fault},
    {"retire", 1, retire_range},
    {0},
};
