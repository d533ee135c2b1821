/* A simpler device: fewer hosts, and all of it to a smaller scale. */
#include "harness/shrink/private/shrink_state.h"

#include "harness/shrink/shrink.h"

#include <string.h>

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
