/* Simpler ops: requests that become one, and simpler numbers. */
#include "harness/shrink/private/shrink_state.h"
#include "harness/shrink/shrink.h"

#include <string.h>

/* Drops request i and lets request k ask for both sizes: the heap stays as full. */
static bool try_merge(struct shrinker *shrinker, size_t i, size_t k)
{
    shrinker_keep_all_but(shrinker, i, 1);
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    struct op *op = &shrinker->trial.ops[k];
    const uint64_t dropped_bytes = shrinker->trial.ops[i].size_bytes;
    if (!shrinker->keep[k] ||
        __builtin_add_overflow(op->size_bytes, dropped_bytes, &op->size_bytes)) {
        return false;
    }
    op_list_filter(&shrinker->trial, shrinker->keep);
    return shrinker_try(shrinker);
}

/* Removing any one of many small blocks may make room; merging neighbours does not.  True when any
 * went. */
bool shrinker_merge_requests(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    bool merged = false;
    size_t i = 0;
    while (i < ops->count && !shrinker_is_over(shrinker)) {
        size_t k = i + 1;
        while (k < ops->count && !shrinker_is_request(&ops->ops[k])) {
            k++;
        }
        /* The last request is the one that fails: it keeps its size. */
        if (!shrinker_is_request(&ops->ops[i]) || k + 1 >= ops->count ||
            !try_merge(shrinker, i, k)) {
            i++;
            continue;
        }
        merged = true;
    }
    return merged;
}

static uint64_t power_at_most(uint64_t value)
{
    return value == 0 ? 0 : (uint64_t)1 << (63 - __builtin_clzll(value));
}

/* True if the op is still there, after others may have gone. */
static bool is_there(const struct shrinker *shrinker, size_t i)
{
    return i < shrinker->result->ops.count;
}

/* Simpler numbers, the simplest first: nothing, one granule, then powers of two. */
static void simplify_number(struct shrinker *shrinker, size_t i, size_t field_offset,
                            uint64_t granule)
{
    struct op op = shrinker->result->ops.ops[i];
    uint64_t *field = (uint64_t *)(void *)((unsigned char *)&op + field_offset);
    const uint64_t candidates[] = {0, granule, power_at_most(*field), power_at_most(*field) * 2};
    const uint64_t now = *field;
    for (size_t k = 0; k < sizeof candidates / sizeof candidates[0]; k++) {
        *field = candidates[k];
        if (candidates[k] == now || (is_there(shrinker, i) && shrinker_try_op(shrinker, i, &op))) {
            return;
        }
    }
}

/* Simplifies what has no number to try: all at once, then one by one. */
static void simplify_words(struct shrinker *shrinker, size_t i)
{
    const struct op now = shrinker->result->ops.ops[i];
    const struct op_kind_info *info = op_kind_info(now.kind);
    struct op tries[] = {now, now, now};
    tries[0].align_log2 = tries[1].align_log2 = 0;
    tries[0].tag = tries[2].tag = now.kind == OP_FAULT ? now.tag : 0;
    tries[0].unpadded_bytes = info->has_unpadded ? 0 : now.unpadded_bytes;
    tries[0].group = 0;
    tries[0].flags &= (uint8_t)~OP_ON_STREAM;
    for (size_t k = 0; k < sizeof tries / sizeof tries[0]; k++) {
        if (shrinker_try_op(shrinker, i, &tries[k]) || !is_there(shrinker, i)) {
            return;
        }
    }
    for (uint32_t stream = 0; stream < op_stream(&now); stream++) {
        struct op op = shrinker->result->ops.ops[i];
        op_set_stream(&op, stream);
        if (shrinker_try_op(shrinker, i, &op) || !is_there(shrinker, i)) {
            return;
        }
    }
}

static void simplify_op(struct shrinker *shrinker, size_t i, uint64_t granule)
{
    const struct op op = shrinker->result->ops.ops[i];
    const struct op_kind_info *info = op_kind_info(op.kind);
    if (op.kind == OP_SWITCH) {
        return;
    }
    simplify_words(shrinker, i);
    if (is_there(shrinker, i) && info->has_size) {
        simplify_number(shrinker, i, offsetof(struct op, size_bytes),
                        op.kind == OP_FAULT ? 1 : granule);
    }
    if (is_there(shrinker, i) &&
        (info->has_stack || (info->has_delay && op.delay_ns != DELAY_NEVER))) {
        simplify_number(shrinker, i, offsetof(struct op, delay_ns), granule);
    }
}

void shrinker_simplify_ops(struct shrinker *shrinker)
{
    const uint64_t granule = shrinker_granule(shrinker);
    for (size_t i = 0; i < shrinker->result->ops.count && !shrinker_is_over(shrinker); i++) {
        simplify_op(shrinker, i, granule);
    }
}

/* --- a simpler device: fewer hosts, and all of it to a smaller scale --- */

static uint64_t scale_down(uint64_t bytes, uint64_t granule, unsigned shift)
{
    const uint64_t granules = bytes / granule + (bytes % granule != 0);
    const uint64_t scaled = granules >> shift;
    return scaled == 0 && bytes != 0 ? granule : scaled * granule;
}

static void scale_op(struct op *op, uint64_t granule, unsigned shift)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    if (info->has_size && op->kind != OP_FAULT) {
        op->size_bytes = scale_down(op->size_bytes, granule, shift);
    }
    if (info->has_stack) {
        op->stack_bytes = scale_down(op->stack_bytes, granule, shift);
    }
    if (info->has_unpadded) {
        op->unpadded_bytes = 0;
    }
}

/* The device and all sizes by 2^shift smaller, in whole granules. */
static bool try_scale(struct shrinker *shrinker, unsigned shift)
{
    const uint64_t granule = shrinker_granule(shrinker);
    struct setup setup = shrinker->result->setup;
    setup.capacity_bytes = setup.capacity_bytes / granule >> shift;
    if (setup.capacity_bytes == 0) {
        return false;
    }
    setup.capacity_bytes *= granule;
    setup.shared_bytes = (setup.shared_bytes / granule >> shift) * granule;
    setup.chip[0] = '\0';
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    for (size_t i = 0; i < shrinker->trial.count; i++) {
        scale_op(&shrinker->trial.ops[i], granule, shift);
    }
    return shrinker_try_setup(shrinker, &setup);
}

/* Tries smaller granules, with as many of them. */
static bool try_granule(struct shrinker *shrinker, uint64_t to)
{
    const uint64_t from = shrinker_granule(shrinker);
    struct setup setup = shrinker->result->setup;
    if (from <= to || from % to != 0) {
        return false;
    }
    setup.granule_bytes = to;
    setup.capacity_bytes = setup.capacity_bytes / from * to;
    setup.shared_bytes = setup.shared_bytes / from * to;
    setup.chip[0] = '\0';
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    for (size_t i = 0; i < shrinker->trial.count; i++) {
        struct op *op = &shrinker->trial.ops[i];
        scale_op(op, from, 0);
        if (op_kind_info(op->kind)->has_size && op->kind != OP_FAULT) {
            op->size_bytes = op->size_bytes / from * to;
        }
        if (op_kind_info(op->kind)->has_stack) {
            op->stack_bytes = op->stack_bytes / from * to;
        }
    }
    return shrinker_try_setup(shrinker, &setup);
}

static bool try_capacity(struct shrinker *shrinker, uint64_t capacity_bytes)
{
    struct setup setup = shrinker->result->setup;
    if (capacity_bytes == 0 || capacity_bytes == setup.capacity_bytes ||
        capacity_bytes % shrinker_granule(shrinker) != 0) {
        return false;
    }
    setup.capacity_bytes = capacity_bytes;
    setup.chip[0] = '\0';
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    return shrinker_try_setup(shrinker, &setup);
}

/* Tries all ops on host 0, or with as many hosts as are named. */
static void simplify_hosts(struct shrinker *shrinker)
{
    struct setup setup = shrinker->result->setup;
    uint8_t last = 0;
    setup_set_hosts(&setup, 1);
    setup.has_clocks = false;
    memset(setup.clocks, 0, sizeof setup.clocks);
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    for (size_t i = 0; i < shrinker->trial.count; i++) {
        last = shrinker->trial.ops[i].host > last ? shrinker->trial.ops[i].host : last;
        shrinker->trial.ops[i].host = 0;
    }
    if (shrinker->result->setup.host_count == 1 || shrinker_try_setup(shrinker, &setup)) {
        return;
    }
    setup = shrinker->result->setup;
    setup_set_hosts(&setup, last + 1u);
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    if (setup.host_count < shrinker->result->setup.host_count) {
        (void)shrinker_try_setup(shrinker, &setup);
    }
}

/* A shared device that has room for one host alone. */
static void simplify_shared(struct shrinker *shrinker)
{
    struct setup setup = shrinker->result->setup;
    if (setup.shared_bytes != 0) {
        setup.shared_bytes = 0;
        op_list_copy(&shrinker->trial, &shrinker->result->ops);
        (void)shrinker_try_setup(shrinker, &setup);
    }
}

void shrinker_simplify_setup(struct shrinker *shrinker)
{
    if (!shrinker->attempt->changes_setup) {
        return;
    }
    simplify_hosts(shrinker);
    simplify_shared(shrinker);
    for (unsigned shift = 32; shift > 0; shift /= 2) {
        while (try_scale(shrinker, shift)) {
        }
    }
    (void)(try_granule(shrinker, 1) || try_granule(shrinker, 512));
    const uint64_t now = shrinker->result->setup.capacity_bytes;
    const uint64_t power = (uint64_t)1 << (63 - __builtin_clzll(now));
    (void)(try_capacity(shrinker, power) ||
           (now < (uint64_t)1 << 50 && try_capacity(shrinker, power * 2)));
}
