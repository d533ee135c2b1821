/* Fewer ops: what has nothing to do with the op that broke, then chunks, then one by one. */
#include "harness/lanes/lanes.h"
#include "harness/shrink/private/shrink_state.h"
#include "harness/shrink/shrink.h"

#include <string.h>

void shrinker_drop_namers(struct shrinker *shrinker, const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if ((op->ref < i && !shrinker->keep[op->ref]) ||
            (op->event < i && !shrinker->keep[op->event])) {
            shrinker->keep[i] = false;
        }
    }
}

void shrinker_keep_all_but(struct shrinker *shrinker, size_t first, size_t count)
{
    memset(shrinker->keep, true, shrinker->result->ops.count);
    memset(shrinker->keep + first, false, count);
    shrinker_drop_namers(shrinker, &shrinker->result->ops);
}

/* The lifetimes that begin there: what ends one that began before stays. */
static void keep_other_lifetimes(struct shrinker *shrinker, size_t first, size_t count)
{
    memset(shrinker->keep, true, shrinker->result->ops.count);
    for (size_t i = first; i < first + count; i++) {
        shrinker->keep[i] = shrinker->result->ops.ops[i].ref < i;
    }
    shrinker_drop_namers(shrinker, &shrinker->result->ops);
}

static uint64_t round_to_granules(uint64_t bytes, uint64_t granule)
{
    return bytes / granule * granule + (bytes % granule != 0 ? granule : 0);
}

/* Returns how many bytes, in whole granules, the kept ops lack of what lived at the end. */
static uint64_t dropped_bytes(const struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    const uint64_t granule = shrinker_granule(shrinker);
    uint64_t bytes = 0;
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if (shrinker_is_request(op)) {
            bytes += shrinker->keep[i] ? 0 : round_to_granules(op->size_bytes, granule);
        } else if (op_ends_handle(op) && op->ref < i && !shrinker->keep[op->ref] &&
                   shrinker_is_request(&ops->ops[op->ref])) {
            bytes -= round_to_granules(ops->ops[op->ref].size_bytes, granule);
        }
    }
    return bytes;
}

/* A request that fails too early does so because little is free.  What is dropped makes more free,
 * so it asks for as much more. */
static bool try_subset_and_grow(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    const uint64_t bytes = dropped_bytes(shrinker),
                   capacity_bytes = shrinker->result->setup.capacity_bytes;
    struct op_list *trial = &shrinker->trial;
    if (lanes_are_in(ops) || shrinker->result->first.kind != VERDICT_PREMATURE ||
        !shrinker->keep[ops->count - 1] || !shrinker_is_request(&ops->ops[ops->count - 1]) ||
        bytes == 0 || bytes > capacity_bytes) {
        return false;
    }
    shrinker_copy_kept(shrinker);
    struct op *last = &trial->ops[trial->count - 1];
    return !__builtin_add_overflow(last->size_bytes, bytes, &last->size_bytes) &&
           shrinker_try(shrinker);
}

static bool try_subset(struct shrinker *shrinker)
{
    return shrinker_try_subset(shrinker) || try_subset_and_grow(shrinker);
}

typedef void keep_function(struct shrinker *shrinker, size_t first, size_t count);

static bool remove_by(struct shrinker *shrinker, keep_function *keep, size_t from, size_t count)
{
    const size_t before = shrinker->result->ops.count;
    size_t end = before;
    while (end > from && !shrinker_is_over(shrinker)) {
        const size_t first = end - from > count ? end - count : from;
        keep(shrinker, first, end - first);
        (void)try_subset(shrinker);
        const size_t left = shrinker->result->ops.count;
        end = first < left ? first : left;
    }
    /* With lanes the list that ran may have another schedule, of the same length. */
    return shrinker->result->ops.count < before;
}

bool shrinker_remove_chunks(struct shrinker *shrinker, size_t from, size_t count)
{
    return remove_by(shrinker, shrinker_keep_all_but, from, count);
}

/* --- what the last op needs --- */

/* With each op that is kept, those that it names. */
static void keep_named(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (size_t i = ops->count; i-- > 0;) {
        const struct op *op = &ops->ops[i];
        if (!shrinker->keep[i]) {
            continue;
        }
        if (op->ref < i) {
            shrinker->keep[op->ref] = true;
        }
        if (op->event < i) {
            shrinker->keep[op->event] = true;
        }
    }
}

/* With each op that is kept, those that act on what it made. */
static void keep_namers(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        if ((op->ref < i && shrinker->keep[op->ref]) ||
            (op->event < i && shrinker->keep[op->event])) {
            shrinker->keep[i] = true;
        }
    }
}

static void keep_related(struct shrinker *shrinker)
{
    keep_named(shrinker);
    keep_namers(shrinker);
    keep_named(shrinker);
}

/* Unless it is over: what asks for a block or loads a program, and what sets the device up or lets
 * time pass. */
static bool may_matter(const struct op *op, bool with_time)
{
    switch (op->kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_DONATE:
    case OP_LOAD:
    case OP_RETIRE:
    case OP_FAULT:
        return true;
    case OP_ADVANCE:
        return with_time;
    default:
        return false;
    }
}

/* Keeps what lived at the end, or was acted on by one of the last ops. */
static void keep_recent(struct shrinker *shrinker, size_t recent_count, bool with_time)
{
    const struct op_list *ops = &shrinker->result->ops;
    const size_t recent = ops->count > recent_count ? ops->count - recent_count : 0;
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        shrinker->keep[i] = i >= recent || may_matter(op, with_time);
        if (i < recent && op_ends_handle(op) && op->ref < i) {
            shrinker->keep[op->ref] = false;
        }
    }
    keep_related(shrinker);
}

static void keep_cone(struct shrinker *shrinker)
{
    const size_t count = shrinker->result->ops.count;
    memset(shrinker->keep, false, count);
    shrinker->keep[count - 1] = true;
    keep_related(shrinker);
}

void shrinker_remove_unrelated(struct shrinker *shrinker)
{
    if (shrinker->result->ops.count == 0) {
        return;
    }
    keep_cone(shrinker);
    if (try_subset(shrinker)) {
        return;
    }
    for (size_t recent_count = 1; recent_count < shrinker->result->ops.count; recent_count *= 8) {
        for (int with_time = 0; with_time < 2; with_time++) {
            keep_recent(shrinker, recent_count, with_time != 0);
            if (try_subset(shrinker)) {
                return;
            }
        }
    }
}

/* --- all --- */

void shrinker_remove_single_ops(struct shrinker *shrinker)
{
    while (shrinker_remove_chunks(shrinker, 0, 1)) {
    }
    shrinker->result->is_minimal = !shrinker_is_over(shrinker);
}

void shrinker_remove_ops(struct shrinker *shrinker)
{
    for (size_t count = shrinker->result->ops.count / 2; count > 1; count /= 2) {
        /* Each list with lanes takes as long as many without, and its ops are few. */
        if (!lanes_are_in(&shrinker->result->ops)) {
            (void)remove_by(shrinker, keep_other_lifetimes, 0, count);
        }
        shrinker_remove_chunks(shrinker, 0, count);
    }
    shrinker_remove_single_ops(shrinker);
}

/* --- switches and lanes of a list whose ops belong to several client threads --- */

/* Returns where the schedule begins: it stands at the end of a list that ran. */
static size_t schedule_start(const struct op_list *ops)
{
    size_t start = ops->count;
    while (start > 0 && ops->ops[start - 1].kind == OP_SWITCH) {
        start--;
    }
    return start;
}

void shrinker_remove_switches(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (size_t count = ops->count - schedule_start(ops); count > 1; count /= 2) {
        shrinker_remove_chunks(shrinker, schedule_start(ops), count);
    }
    while (schedule_start(ops) < ops->count &&
           shrinker_remove_chunks(shrinker, schedule_start(ops), 1)) {
    }
}

static void rename_lane(struct op *op, uint8_t from, uint8_t to)
{
    op->lane = op->lane == from ? to : op->lane;
    if (op->kind == OP_SWITCH && op->event == OP_NONE && op->tag == from) {
        op->tag = to;
    }
}

/* Tries all ops of a lane on another one, with the switches that name it. */
static bool try_lane(struct shrinker *shrinker, uint8_t from, uint8_t to)
{
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    for (size_t i = 0; i < shrinker->trial.count; i++) {
        rename_lane(&shrinker->trial.ops[i], from, to);
    }
    return shrinker_try(shrinker);
}

static bool has_lane(const struct op_list *ops, uint8_t lane)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].kind != OP_SWITCH && ops->ops[i].lane == lane) {
            return true;
        }
    }
    return false;
}

/* One op, with its own switches, to another lane. */
static bool try_op_in_lane(struct shrinker *shrinker, size_t number, uint8_t lane)
{
    struct op_list *trial = &shrinker->trial;
    op_list_copy(trial, &shrinker->result->ops);
    trial->ops[number].lane = lane;
    for (size_t i = 0; i < trial->count; i++) {
        if (trial->ops[i].kind == OP_SWITCH && trial->ops[i].ref == number) {
            trial->ops[i].lane = lane;
        }
    }
    return shrinker_try(shrinker);
}

/* Fewer lanes: each is emptied into a lower one, whole or op by op, or takes the number of one that
 * is gone. */
static void join_lanes(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (uint8_t lane = lanes_count(ops); lane-- > 1;) {
        for (uint8_t to = 0; to < lane && has_lane(ops, lane) && !shrinker_is_over(shrinker);
             to++) {
            (void)try_lane(shrinker, lane, to);
        }
    }
    for (size_t i = 0; i < schedule_start(ops) && !shrinker_is_over(shrinker); i++) {
        if (ops->ops[i].lane != 0) {
            (void)try_op_in_lane(shrinker, i, 0);
        }
    }
}

void shrinker_remove_schedule(struct shrinker *shrinker)
{
    size_t before = SIZE_MAX;
    while (lanes_are_in(&shrinker->result->ops) && shrinker->result->ops.count < before &&
           !shrinker_is_over(shrinker)) {
        before = shrinker->result->ops.count;
        shrinker_remove_switches(shrinker);
        join_lanes(shrinker);
        shrinker_remove_ops(shrinker);
    }
}
