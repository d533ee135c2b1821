#include "fuzz/mutate/mutate_draw.h"

enum { BLOCKS_MIN = 4, BLOCKS_MAX = 64, STEP_MAX = 5 };

/* Appends equal requests, about count of them, which together take the whole device, or one part in
 * `parts` of it. */
static size_t block_equal(struct editing *editing, size_t count, uint64_t parts)
{
    const struct setup *setup = &editing->input->setup;
    const uint64_t all = draw_capacity_units(setup) / parts;
    const uint64_t units = all / count == 0 ? 1 : all / count;
    const uint64_t fitting = all / units < 2 * count ? all / units : 2 * count;
    const struct op like = draw_op(editing, OP_ALLOC); /* its host and lane */
    for (uint64_t i = 0; i < fitting; i++) {
        struct op *op = block_add(editing, OP_ALLOC);
        op->size_bytes = draw_short_size(setup, units * draw_unit_bytes(setup));
        op->host = like.host;
        op->lane = like.lane;
    }
    return (size_t)fitting;
}

/* The device fills up with equal blocks. */
static bool fill_heap(struct editing *editing)
{
    (void)block_equal(editing, (size_t)random_log_uniform(editing->random, BLOCKS_MIN, BLOCKS_MAX),
                      1);
    return block_insert(editing, draw_place(editing));
}

/* Draws how the teeth of a comb go: most simply they are freed; or each behind an event of its own,
 * or they stay and the others are freed around them, held. */
static enum op_kind draw_tooth(struct random *random)
{
    static const uint8_t kinds[] = {OP_FREE, OP_FREE, OP_FREE, OP_FREE_AFTER, OP_HOLD, OP_USE};
    return (enum op_kind)kinds[random_below(random, sizeof kinds)];
}

/* Equal blocks side by side, every so-manieth of which is freed, held or used: holes none of which
 * is large. */
static bool comb_heap(struct editing *editing)
{
    struct random *random = editing->random;
    const size_t at = draw_place(editing);
    const size_t wanted = (size_t)random_log_uniform(random, BLOCKS_MIN, BLOCKS_MAX);
    const size_t count = block_equal(editing, wanted, random_between(random, 1, 2));
    const size_t step = (size_t)random_between(random, 2, STEP_MAX);
    const enum op_kind kind = draw_tooth(random);
    const uint64_t delay = kind == OP_FREE_AFTER || kind == OP_USE ? draw_delay(random) : 0;
    if (count == 0) {
        return false;
    }
    const struct op like = editing->block.ops[0];
    for (size_t i = (size_t)random_below(random, step); i < count; i += step) {
        struct op *op = block_add(editing, kind);
        op->ref = (uint32_t)(at + i);
        op->delay_ns = delay;
        op->host = like.host;
        op->lane = like.lane;
    }
    return block_insert(editing, at);
}

const struct edit heap_edits[] = {{"fill", 3, fill_heap}, {"comb", 5, comb_heap}, {0}};
