#include "fuzz/mutate/mutate_draw.h"

#include "harness/base/check.h"
#include "harness/op/fault.h"

enum {
    SHORT_UNITS = 0x8000,   /* multiples of the unit that are said as such, */
    SHORT_MANTISSA = 0x7FF, /* and what is left of the other sizes: fuzz/input_codec.c */
    TAG_COUNT = 4,
    DELAY_LOW_NS = 1000,
    DELAY_HIGH_NS = 1000000000,
    EDGE_ONE_IN = 32,
    RETRY_ONE_IN = 32, /* acts only behind a request that was refused */
};

/* --- numbers --- */

uint64_t draw_unit_bytes(const struct setup *setup)
{
    return setup->granule_bytes == 0 ? INPUT_GRANULE_BYTES : setup->granule_bytes;
}

uint64_t draw_capacity_units(const struct setup *setup)
{
    const uint64_t units = setup->capacity_bytes / draw_unit_bytes(setup);
    return units == 0 ? 1 : units;
}

uint64_t draw_short_size(const struct setup *setup, uint64_t size_bytes)
{
    const uint64_t unit = draw_unit_bytes(setup);
    if (size_bytes % unit == 0 && size_bytes / unit < SHORT_UNITS &&
        size_bytes / unit <= draw_capacity_units(setup)) {
        return size_bytes;
    }
    unsigned shift = 0;
    while (size_bytes >> shift > SHORT_MANTISSA) {
        shift += 2;
    }
    return size_bytes >> shift << shift;
}

uint64_t draw_short_delay(uint64_t delay_ns)
{
    if (delay_ns == 0 || delay_ns == DELAY_NEVER) {
        return delay_ns;
    }
    uint64_t power = 1;
    while (delay_ns / power >= 10) {
        power *= 10;
    }
    const uint64_t digit = delay_ns / power;
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

static uint64_t draw_units(struct random *random, uint64_t capacity)
{
    if (random_chance(random, 1,
                      4)) { /* a part of the device, and what just does not fit beside the others */
        const uint64_t part = capacity / random_between(random, 1, 16);
        const uint64_t units = part + random_below(random, 3);
        return units <= 1 ? 1 : units - 1;
    }
    return random_log_uniform(random, 1, capacity);
}

uint64_t draw_size(const struct editing *editing)
{
    struct random *random = editing->random;
    const struct setup *setup = &editing->input->setup;
    uint64_t size = draw_units(random, draw_capacity_units(setup)) * draw_unit_bytes(setup);
    if (random_chance(random, 1, 16)) {
        size -= random_below(random, draw_unit_bytes(setup));
    }
    return draw_short_size(setup, size);
}

uint64_t draw_edge_size(const struct editing *editing)
{
    const struct setup *setup = &editing->input->setup;
    const uint64_t unit = draw_unit_bytes(setup);
    const uint64_t capacity = setup->capacity_bytes;
    const uint64_t half = UINT64_C(1) << 63;
    const uint64_t below = capacity > unit ? capacity - unit : unit;
    const uint64_t sizes[] = {0,    1,        unit - 1, unit + 1,  below, capacity, capacity + 1,
                              half, half + 1, -unit,    UINT64_MAX};
    return sizes[random_below(editing->random, sizeof sizes / sizeof sizes[0])];
}

uint64_t draw_delay(struct random *random)
{
    return random_chance(random, 1, 16)
               ? DELAY_NEVER
               : draw_short_delay(random_log_uniform(random, DELAY_LOW_NS, DELAY_HIGH_NS));
}

void draw_fit(struct random *random, struct op *op)
{
    struct fit fit = {.kind = (uint8_t)random_below(random, FIT_KIND_COUNT)};
    fit.index = fit_has_index((enum fit_kind)fit.kind) ? (uint32_t)random_below(random, UINT8_MAX)
                                                       : 0;
    fit.granules = (int32_t)random_below(random, 3) - 1;
    op->flags |= OP_FITTED;
    op->size_bytes = fit_pack(&fit);
}

size_t draw_count(struct random *random, size_t bound)
{
    CHECK(bound >= 1);
    return (size_t)random_log_uniform(random, 1, bound);
}

/* --- ops --- */

static const uint32_t kind_weights[OP_KIND_COUNT] = {
    [OP_ALLOC] = 24,  [OP_OUTPUT] = 8,     [OP_FREE] = 16,    [OP_FREE_AFTER] = 12, [OP_USE] = 8,
    [OP_HOLD] = 6,    [OP_RELEASE] = 4,    [OP_DONATE] = 4,   [OP_LOAD] = 6,        [OP_UNLOAD] = 2,
    [OP_EXECUTE] = 6, [OP_DEFRAGMENT] = 2, [OP_COMPLETE] = 6, [OP_ADVANCE] = 4,     [OP_TOUCH] = 2,
    [OP_REPORT] = 1,  [OP_FAULT] = 3,      [OP_RETIRE] = 1,
};

enum op_kind draw_kind(struct random *random)
{
    return (enum op_kind)random_weighted(random, kind_weights, OP_KIND_COUNT);
}

static void draw_request(const struct editing *editing, struct op *op)
{
    struct random *random = editing->random;
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    op->size_bytes = random_chance(random, 1, EDGE_ONE_IN) ? draw_edge_size(editing)
                                                           : draw_size(editing);
    if (random_chance(random, 1, 4)) {
        draw_fit(random, op);
    }
    op->align_log2 = info->has_align && random_chance(random, 1, 12)
                         ? (uint8_t)random_between(random, 6, 14)
                         : 0;
    op->stack_bytes = info->has_stack && random_chance(random, 1, 2) ? draw_size(editing) : 0;
}

static void draw_fault(struct random *random, struct op *op)
{
    op->tag = (uint8_t)random_below(random, FAULT_KIND_COUNT);
    op->size_bytes = random_log_uniform(random, 1, 8);
    op->flags |= random_chance(random, 1, 8) ? OP_FOR_EVER : 0;
    op->delay_ns = fault_info((enum fault_kind)op->tag)->has_delay ? draw_delay(random) : 0;
}

struct op draw_op(const struct editing *editing, enum op_kind kind)
{
    struct random *random = editing->random;
    const struct op_kind_info *info = op_kind_info(kind);
    struct op op = op_make(kind);
    op.host = (uint8_t)random_below(random, editing->input->setup.host_count);
    op.lane = (uint8_t)random_below(random, editing->input->lane_count);
    op.tag = info->has_tag ? (uint8_t)random_below(random, TAG_COUNT) : 0;
    if (kind == OP_FAULT) {
        draw_fault(random, &op);
        return op;
    }
    const bool shares_event = info->has_event &&
                              (info->event_required || random_chance(random, 1, 4));
    op.flags = info->has_block || info->has_program || info->has_address || shares_event
                   ? OP_RELATIVE
                   : 0;
    op.flags |= info->can_be_refused && random_chance(random, 1, RETRY_ONE_IN) ? OP_RETRY : 0;
    op.ref = info->has_block || info->has_program ? (uint32_t)random_below(random, UINT16_MAX)
                                                  : OP_NONE;
    op.event = shares_event ? (uint32_t)random_below(random, UINT8_MAX) : OP_NONE;
    op.delay_ns = info->has_delay && !shares_event ? draw_delay(random) : 0;
    if (info->can_be_fitted) {
        draw_request(editing, &op);
    } else if (kind == OP_RETIRE) {
        op.size_bytes = draw_unit_bytes(&editing->input->setup) * draw_count(random, 8);
        op.address = draw_size(editing);
    }
    return op;
}

/* --- places --- */

size_t draw_place(const struct editing *editing)
{
    return (size_t)random_below(editing->random, editing->input->ops.count + 1);
}

bool draw_part(const struct editing *editing, const struct op_list *ops, struct list_part *part)
{
    if (ops->count == 0) {
        return false;
    }
    part->first = (size_t)random_below(editing->random, ops->count);
    part->count = draw_count(editing->random, ops->count - part->first);
    return true;
}

bool draw_op_where(const struct editing *editing, size_t before,
                   bool (*is_one)(const struct op *op), size_t *at)
{
    const struct op_list *ops = &editing->input->ops;
    uint64_t count = 0;
    CHECK(before <= ops->count);
    for (size_t i = 0; i < before; i++) {
        count += is_one(&ops->ops[i]);
    }
    uint64_t left = count == 0 ? 0 : 1 + random_below(editing->random, count);
    for (size_t i = 0; i < before && left > 0; i++) {
        left -= is_one(&ops->ops[i]);
        *at = i;
    }
    return count > 0;
}

bool draw_is_request(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->can_be_fitted;
}

bool draw_makes_block(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->makes_block;
}

void op_loosen(struct op *op)
{
    op->flags |= OP_RELATIVE;
}

/* --- the block --- */

struct op *block_add(struct editing *editing, enum op_kind kind)
{
    const struct op op = op_make(kind);
    op_list_append(&editing->block, &op);
    return &editing->block.ops[editing->block.count - 1];
}

struct op *block_draw(struct editing *editing, enum op_kind kind)
{
    const struct op op = draw_op(editing, kind);
    op_list_append(&editing->block, &op);
    return &editing->block.ops[editing->block.count - 1];
}

bool block_insert(struct editing *editing, size_t at)
{
    const size_t count = editing->block.count;
    CHECK(at <= editing->input->ops.count);
    const bool fits = count > 0 && editing->input->ops.count + count <= editing->op_count_max;
    if (fits) {
        op_list_insert(&editing->input->ops, at, editing->block.ops, count);
    }
    op_list_clear(&editing->block);
    return fits;
}
