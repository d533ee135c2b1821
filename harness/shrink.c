#include "harness/shrink.h"

#include "harness/check.h"
#include "harness/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shrinker {
    const struct shrink_try *attempt;
    struct shrink_result *result;
    uint64_t replays_left;
    struct op_list trial; /* the list being tried */
    bool *keep;           /* by op of result->ops */
};

/* Takes the list as it ran, cut behind the op that broke: nothing after it matters. */
static void take_list(struct op_list *ops, const struct trial *trial)
{
    op_list_copy(ops, &trial->ops);
    /* With lanes the ops behind it may have run before it. */
    if (trial->first.op < ops->count && !lanes_are_in(ops)) {
        ops->count = (size_t)trial->first.op + 1;
    }
}

bool shrink_replay(void *context, struct op_list *ops, struct verdict *first)
{
    struct shrink_replaying *replaying = context;
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    char signature[SIGNATURE_BYTES];
    if (!trial_replay(replaying->target, replaying->setup, ops, NULL, &trial, reason)) {
        return false;
    }
    signature_print(&trial.first, &trial.ops, signature);
    if (replaying->signature[0] == '\0') {
        (void)snprintf(replaying->signature, SIGNATURE_BYTES, "%s", signature);
    }
    const bool is_same = signature[0] != '\0' && strcmp(signature, replaying->signature) == 0;
    if (is_same) {
        *first = trial.first;
        take_list(ops, &trial);
    }
    trial_deinit(&trial);
    return is_same;
}

/* Tries shrinker->trial; true when it is the same finding.  Then it becomes the result. */
static bool try_list(struct shrinker *shrinker)
{
    struct shrink_result *result = shrinker->result;
    if (shrinker->replays_left == 0) {
        return false;
    }
    shrinker->replays_left--;
    result->replays++;
    if (!shrinker->attempt->is_same(shrinker->attempt->context, &shrinker->trial, &result->first)) {
        return false;
    }
    op_list_copy(&result->ops, &shrinker->trial);
    return true;
}

/* Marks what stays when [first, first + count) goes and every op that names a dropped one. */
static void keep_all_but(struct shrinker *shrinker, size_t first, size_t count)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        const bool names_dropped = (op->ref < i && !shrinker->keep[op->ref]) ||
                                   (op->event < i && !shrinker->keep[op->event]);
        shrinker->keep[i] = (i < first || i >= first + count) && !names_dropped;
    }
}

static bool try_without(struct shrinker *shrinker, size_t first, size_t count)
{
    keep_all_but(shrinker, first, count);
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    op_list_filter(&shrinker->trial, shrinker->keep);
    return try_list(shrinker);
}

/* Removes chunks of `count` from the end to `from`: later ops depend on earlier ones.  True when any went. */
static bool remove_chunks(struct shrinker *shrinker, size_t from, size_t count)
{
    const size_t before = shrinker->result->ops.count;
    size_t end = before;
    while (end > from && shrinker->replays_left > 0) {
        const size_t first = end - from > count ? end - count : from;
        (void)try_without(shrinker, first, end - first);
        const size_t left = shrinker->result->ops.count;
        end = first < left ? first : left;
    }
    /* With lanes the list that ran may have another schedule, of the same length. */
    return shrinker->result->ops.count < before;
}

/* Where the schedule begins: it stands at the end of a list that ran. */
static size_t schedule_start(const struct op_list *ops)
{
    size_t start = ops->count;
    while (start > 0 && ops->ops[start - 1].kind == OP_SWITCH) {
        start--;
    }
    return start;
}

/* The fewer switches, the fewer points at which an op has to stand where it does. */
static void remove_switches(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (size_t count = ops->count - schedule_start(ops); count > 1; count /= 2) {
        remove_chunks(shrinker, schedule_start(ops), count);
    }
    while (schedule_start(ops) < ops->count && remove_chunks(shrinker, schedule_start(ops), 1)) {
    }
}

static void remove_ops(struct shrinker *shrinker)
{
    for (size_t count = shrinker->result->ops.count / 2; count > 1; count /= 2) {
        remove_chunks(shrinker, 0, count);
    }
    while (remove_chunks(shrinker, 0, 1)) {
    }
    shrinker->result->is_minimal = shrinker->replays_left > 0;
}

static bool asks_for_a_block(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
}

/* Drops request i and lets request k ask for both sizes: the heap stays as full. */
static bool try_merge(struct shrinker *shrinker, size_t i, size_t k)
{
    keep_all_but(shrinker, i, 1);
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    struct op *op = &shrinker->trial.ops[k];
    if (!shrinker->keep[k] || __builtin_add_overflow(op->size_bytes, shrinker->trial.ops[i].size_bytes, &op->size_bytes)) {
        return false;
    }
    op_list_filter(&shrinker->trial, shrinker->keep);
    return try_list(shrinker);
}

/* Removing any one of many small blocks may make room; merging neighbours does not.  True when any went. */
static bool merge_requests(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    bool merged = false;
    size_t i = 0;
    while (i < ops->count && shrinker->replays_left > 0) {
        size_t k = i + 1;
        while (k < ops->count && !asks_for_a_block(&ops->ops[k])) {
            k++;
        }
        /* The last request is the one that fails: it keeps its size. */
        if (!asks_for_a_block(&ops->ops[i]) || k + 1 >= ops->count || !try_merge(shrinker, i, k)) {
            i++;
            continue;
        }
        merged = true;
    }
    return merged;
}

static bool try_op(struct shrinker *shrinker, size_t i, const struct op *op)
{
    if (op_equal(op, &shrinker->result->ops.ops[i])) {
        return false;
    }
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    shrinker->trial.ops[i] = *op;
    return try_list(shrinker);
}

static uint64_t power_at_most(uint64_t value)
{
    return value == 0 ? 0 : (uint64_t)1 << (63 - __builtin_clzll(value));
}

/* Simpler numbers, the simplest first: nothing, one granule, then powers of two. */
static void simplify_number(struct shrinker *shrinker, size_t i, size_t field_offset, uint64_t granule)
{
    struct op op = shrinker->result->ops.ops[i];
    uint64_t *field = (uint64_t *)(void *)((unsigned char *)&op + field_offset);
    const uint64_t candidates[] = {0, granule, power_at_most(*field), power_at_most(*field) * 2};
    const uint64_t now = *field;
    for (size_t k = 0; k < sizeof candidates / sizeof candidates[0]; k++) {
        *field = candidates[k];
        if (candidates[k] == now || (i < shrinker->result->ops.count && try_op(shrinker, i, &op))) {
            return;
        }
    }
}

static void simplify_op(struct shrinker *shrinker, size_t i, uint64_t granule)
{
    struct op op = shrinker->result->ops.ops[i];
    const struct op_kind_info *info = op_kind_info(op.kind);
    if (op.kind == OP_SWITCH) {
        return;
    }
    op.align_log2 = 0;
    op.tag = op.kind == OP_FAULT ? op.tag : 0;
    op.unpadded_bytes = info->has_unpadded ? 0 : op.unpadded_bytes;
    (void)try_op(shrinker, i, &op);
    if (i < shrinker->result->ops.count && info->has_size && op.kind != OP_FAULT) {
        simplify_number(shrinker, i, offsetof(struct op, size_bytes), granule);
    }
    if (i < shrinker->result->ops.count && (info->has_stack || (info->has_delay && op.delay_ns != DELAY_NEVER))) {
        simplify_number(shrinker, i, offsetof(struct op, delay_ns), granule);
    }
}

static void simplify_ops(struct shrinker *shrinker)
{
    const uint64_t granule = shrinker->attempt->granule_bytes == 0 ? 1 : shrinker->attempt->granule_bytes;
    for (size_t i = 0; i < shrinker->result->ops.count && shrinker->replays_left > 0; i++) {
        simplify_op(shrinker, i, granule);
    }
}

/* --- lanes ---------------------------------------------------------------------------------- */

static void rename_lane(struct op *op, uint8_t from, uint8_t to)
{
    op->lane = op->lane == from ? to : op->lane;
    if (op->kind == OP_SWITCH && op->event == OP_NONE && op->tag == from) {
        op->tag = to;
    }
}

/* All ops of a lane to another one, with the switches that name it. */
static bool try_lane(struct shrinker *shrinker, uint8_t from, uint8_t to)
{
    op_list_copy(&shrinker->trial, &shrinker->result->ops);
    for (size_t i = 0; i < shrinker->trial.count; i++) {
        rename_lane(&shrinker->trial.ops[i], from, to);
    }
    return try_list(shrinker);
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
    return try_list(shrinker);
}

/* Fewer lanes: each is emptied into a lower one, whole or op by op, or takes the number of one that is gone. */
static void join_lanes(struct shrinker *shrinker)
{
    const struct op_list *ops = &shrinker->result->ops;
    for (uint8_t lane = lanes_count(ops); lane-- > 1;) {
        for (uint8_t to = 0; to < lane && has_lane(ops, lane) && shrinker->replays_left > 0; to++) {
            (void)try_lane(shrinker, lane, to);
        }
    }
    for (size_t i = 0; i < schedule_start(ops) && shrinker->replays_left > 0; i++) {
        if (ops->ops[i].lane != 0) {
            (void)try_op_in_lane(shrinker, i, 0);
        }
    }
}

/* Without lanes there is nothing to do. */
static void shrink_schedule(struct shrinker *shrinker)
{
    size_t before = SIZE_MAX;
    while (lanes_are_in(&shrinker->result->ops) && shrinker->result->ops.count < before && shrinker->replays_left > 0) {
        before = shrinker->result->ops.count;
        remove_switches(shrinker);
        join_lanes(shrinker);
        remove_ops(shrinker);
    }
}

static void shrink_all(struct shrinker *shrinker)
{
    remove_switches(shrinker);
    remove_ops(shrinker);
    shrink_schedule(shrinker);
    while (merge_requests(shrinker)) {
        remove_ops(shrinker);
    }
    simplify_ops(shrinker);
    remove_ops(shrinker);
    shrink_schedule(shrinker);
}

bool shrink(const struct shrink_try *attempt, const struct op_list *ops, uint64_t replay_count_max,
            struct shrink_result *result)
{
    memset(result, 0, sizeof *result);
    op_list_init(&result->ops);
    struct shrinker shrinker = {.attempt = attempt, .result = result, .replays_left = 1};
    op_list_init(&shrinker.trial);
    op_list_copy(&shrinker.trial, ops);
    const bool is_found = try_list(&shrinker);
    if (is_found) {
        shrinker.replays_left = replay_count_max;
        shrinker.keep = malloc(ops->count + 1);
        CHECK(shrinker.keep != NULL);
        shrink_all(&shrinker);
        free(shrinker.keep);
    } else {
        op_list_deinit(&result->ops);
    }
    op_list_deinit(&shrinker.trial);
    return is_found;
}
