#include "measure/drawn_list.h"

#include "harness/base/check.h"
#include "harness/trial/trial_run.h"

#include <stdio.h>
#include <stdlib.h>

/* Which ops the recorder granted; count of them. */
struct granted {
    bool *is_granted;
    size_t count, room;
};

static bool is_for_all(const struct op *op)
{
    return op->host == 0 &&
           (op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_FREE ||
            op->kind == OP_FREE_AFTER || op->kind == OP_COMPLETE || op->kind == OP_ADVANCE);
}

static void note_op(void *context, const struct run *run, const struct verdict *verdict)
{
    struct granted *granted = context;
    const struct op_list *ops = run_ops(run);
    (void)verdict;
    if (ops->count > granted->room) {
        granted->room = 2 * ops->count;
        granted->is_granted = realloc(granted->is_granted, granted->room);
        CHECK(granted->is_granted != NULL);
    }
    while (granted->count < ops->count) {
        const struct observation *seen = run_observation(run);
        granted->is_granted[granted->count++] = seen->skipped == 0 && seen->result == TARGET_OK;
    }
}

/* The bytes that kept requests hold, in granules, and the rest, as a device without any loss
 * counts. */
struct room {
    uint64_t *held_bytes; /* by op; 0 = nothing */
    uint64_t free_bytes, granule_bytes;
};

static bool take_room(struct room *room, size_t i, uint64_t size_bytes)
{
    const uint64_t granules = size_bytes / room->granule_bytes +
                              (size_bytes % room->granule_bytes != 0);
    if (granules > room->free_bytes / room->granule_bytes) {
        return false;
    }
    room->held_bytes[i] = granules * room->granule_bytes;
    room->free_bytes -= room->held_bytes[i];
    return true;
}

static bool give_room(struct room *room, uint32_t request)
{
    const bool is_held = room->held_bytes[request] > 0;
    room->free_bytes += room->held_bytes[request];
    room->held_bytes[request] = 0;
    return is_held;
}

/* Chooses the ops to keep: not those that name an op that is dropped, nor requests without room. */
static void choose_ops(const struct op_list *ops, const struct granted *granted, struct room *room,
                       bool *is_kept)
{
    for (size_t i = 0; i < ops->count; i++) {
        const struct op *op = &ops->ops[i];
        is_kept[i] = i < granted->count && granted->is_granted[i] && is_for_all(op);
        if (is_kept[i] && (op->kind == OP_ALLOC || op->kind == OP_OUTPUT)) {
            is_kept[i] = take_room(room, i, op->size_bytes);
        } else if (is_kept[i] && (op->kind == OP_FREE || op->kind == OP_FREE_AFTER)) {
            is_kept[i] = op->ref < i && give_room(room, op->ref);
        } else if (is_kept[i] && op->kind == OP_COMPLETE) {
            is_kept[i] = op->event < i && is_kept[op->event];
        }
    }
}

static void make_plain(struct op *op)
{
    if (op->kind == OP_OUTPUT) {
        op->kind = OP_ALLOC;
    }
    if (op->kind == OP_ALLOC) {
        op->align_log2 = 0;
        op->unpadded_bytes = 0;
    }
    op->flags = 0;
    op->lane = 0;
    op->tag = 0;
    op_clear_unused(op);
}

static void keep_chosen(struct op_list *ops, const struct granted *granted,
                        const struct setup *setup)
{
    struct room room = {.held_bytes = calloc(ops->count + 1, sizeof *room.held_bytes),
                        .free_bytes = setup->capacity_bytes,
                        .granule_bytes = setup->granule_bytes};
    bool *is_kept = calloc(ops->count + 1, sizeof *is_kept);
    CHECK(is_kept != NULL && room.held_bytes != NULL);
    choose_ops(ops, granted, &room, is_kept);
    op_list_filter(ops, is_kept);
    free(is_kept);
    free(room.held_bytes);
}

/* Twice: a free may have lost its block to the first choice, and then the block stays. */
static void take_granted(struct op_list *drawn, struct granted *granted, const struct setup *setup,
                         struct op_list *ops)
{
    keep_chosen(drawn, granted, setup);
    granted->count = drawn->count;
    for (size_t i = 0; i < drawn->count; i++) {
        make_plain(&drawn->ops[i]);
        granted->is_granted[i] = true;
    }
    keep_chosen(drawn, granted, setup);
    op_list_copy(ops, drawn);
}

static void strip(const struct target *recorder, struct target *plain)
{
    *plain = *recorder;
    plain->use = NULL;
    plain->hold = NULL;
    plain->release = NULL;
    plain->donate = NULL;
    plain->load = NULL;
    plain->execute = NULL;
    plain->unload = NULL;
    plain->defragment = NULL;
    plain->retire = NULL;
}

bool drawn_list_make(const struct target *recorder, const struct scenario *scenario,
                     const struct setup *setup, uint64_t op_count_max, struct op_list *ops,
                     char reason[RUN_REASON_BYTES])
{
    struct target plain;
    struct trial trial;
    struct granted granted = {0};
    const struct run_listener listener = {&granted, note_op};
    strip(recorder, &plain);
    const struct trial_plan plan = {
        .target = &plain, .scenario = scenario, .setup = setup, .op_count_max = op_count_max};
    CHECK(ops->count == 0);
    if (!trial_run(&plan, &listener, &trial, reason)) {
        return false;
    }
    const bool is_sound = trial.first.kind != VERDICT_BROKEN;
    if (is_sound) {
        take_granted(&trial.ops, &granted, setup, ops);
    } else {
        (void)snprintf(reason, RUN_REASON_BYTES, "the recorder broke a promise: %.200s",
                       trial.first.reason);
    }
    trial_deinit(&trial);
    free(granted.is_granted);
    return is_sound;
}
