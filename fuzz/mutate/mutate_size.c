#include "fuzz/mutate/mutate_draw.h"

/* Draws one of the requests. */
static struct op *draw_any_request(const struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    size_t at = 0;
    return draw_op_where(editing, ops->count, draw_is_request, &at) ? &ops->ops[at] : NULL;
}

/* The request asks for what just fits, or just does not, when it is run. */
static bool fit_size(struct editing *editing)
{
    struct op *op = draw_any_request(editing);
    if (op == NULL) {
        return false;
    }
    draw_fit(editing->random, op);
    op->unpadded_bytes = op_kind_info((enum op_kind)op->kind)->has_unpadded ? 0
                                                                            : op->unpadded_bytes;
    return true;
}

/* Two requests of one size: the hole of one is exactly the other's. */
static bool copy_size(struct editing *editing)
{
    struct op *to = draw_any_request(editing);
    const struct op *from = to == NULL ? NULL : draw_any_request(editing);
    if (from == NULL || from == to) {
        return false;
    }
    to->size_bytes = from->size_bytes;
    to->flags = (uint8_t)((to->flags & ~OP_FITTED) | (from->flags & OP_FITTED));
    return true;
}

/* A granule more or less, half or double, or an edge of what a size can be. */
static bool nudge_size(struct editing *editing)
{
    struct op *op = draw_any_request(editing);
    if (op == NULL || (op->flags & OP_FITTED) != 0) {
        return false;
    }
    const uint64_t unit = draw_unit_bytes(&editing->input->setup);
    const uint64_t size = op->size_bytes;
    const uint64_t sizes[] = {size + unit, size > unit ? size - unit : unit, size + 1, size / 2,
                              size * 2,    draw_edge_size(editing)};
    op->size_bytes = sizes[random_below(editing->random, sizeof sizes / sizeof sizes[0])];
    return op->size_bytes != size;
}

static bool has_align(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->has_align;
}

/* An alignment from half a granule up to the device, and a size at its edge. */
static bool align_size(struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    size_t at = 0;
    if (!draw_op_where(editing, ops->count, has_align, &at)) {
        return false;
    }
    const struct setup *setup = &editing->input->setup;
    const unsigned low = (unsigned)__builtin_ctzll(draw_unit_bytes(setup));
    const unsigned high = 63u - (unsigned)__builtin_clzll(setup->capacity_bytes | 1);
    const unsigned top = high < OP_ALIGN_LOG2_MAX ? high : OP_ALIGN_LOG2_MAX;
    struct op *op = &ops->ops[at];
    op->align_log2 = (uint8_t)random_between(editing->random, low < top ? low : top, top);
    if ((op->flags & OP_FITTED) == 0 && random_chance(editing->random, 1, 2)) {
        const uint64_t unit = draw_unit_bytes(setup);
        const uint64_t align = UINT64_C(1) << op->align_log2;
        op->size_bytes = align + unit * random_below(editing->random, 3) -
                         (align > unit ? unit : 0);
    }
    return true;
}

/* A new request for what fits, anywhere: the question that a heap answers wrongly when it is
 * broken. */
static bool set_fit(struct editing *editing)
{
    struct op *op = block_draw(editing,
                               random_chance(editing->random, 1, 4) ? OP_OUTPUT : OP_ALLOC);
    draw_fit(editing->random, op);
    op->align_log2 = random_chance(editing->random, 1, 8) ? op->align_log2 : 0;
    return block_insert(editing, draw_place(editing));
}

const struct edit size_edits[] = {
    {"fit", 5, fit_size},     {"same_size", 3, copy_size}, {"nudge", 4, nudge_size},
    {"align", 2, align_size}, {"ask_fit", 6, set_fit},     {0},
};
