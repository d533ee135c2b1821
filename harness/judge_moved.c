#include "harness/judge_moved.h"

#include "harness/check.h"
#include "harness/judge_oom.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- device calls ---------------------------------------------------------------------------- */

/* What became free loses its contents; a target that does not queue frees is told only now. */
void judge_clear_gone(struct host *host)
{
    size_t count = 0;
    const struct model_gone *gone = model_gone(host->model, &count);
    for (size_t i = 0; i < count; i++) {
        device_scrub(host->device, gone[i].slot);
    }
    model_forget_gone(host->model);
}

void judge_free_deferred(struct host *host)
{
    size_t count = 0;
    const struct model_gone *gone = model_gone(host->model, &count);
    for (size_t i = 0; i < count; i++) {
        if (gone[i].is_freed && !host->contract.queues_frees && host->instance != NULL) {
            (void)host->target->free(host->instance, gone[i].handle, 0);
        }
    }
    judge_clear_gone(host);
}

static void absorb_until(struct judge *judge, uint64_t completed_count)
{
    while (judge->absorbed_count < completed_count) {
        const uint64_t event = timeline_completed_at(judge->timeline, judge->absorbed_count++);
        /* Blocks of any host may wait for it, not only those of the host that made it. */
        for (uint32_t i = 0; i < judge->host_count; i++) {
            model_complete(judge->hosts[i].model, event);
            judge_free_deferred(&judge->hosts[i]);
        }
    }
}

void judge_absorb_all(struct judge *judge)
{
    absorb_until(judge, timeline_completed_count(judge->timeline));
}

uint64_t judge_address_now(const struct host *host, const struct block *block)
{
    struct target_block at = {0};
    if (!block->is_known || host->target->locate == NULL ||
        host->target->locate(host->instance, block->handle, &at) != TARGET_OK) {
        return block->address;
    }
    return at.address;
}

/* A block that is in use when it is copied away is moved while in use, even if the use ends before the call
 * returns. */
static bool check_source(struct judge *judge, const struct host *host, const struct device_call *copy)
{
    struct span span;
    uint64_t at = copy->from;
    while (span_map_intersects(model_map(host->model), at, copy->from + copy->bytes, &span)) {
        const struct block *block = model_block(host->model, (uint32_t)span.owner);
        if (!block_is_movable(block) && judge_address_now(host, block) != block->address) {
            return judge_broken(judge, RULE_HELD_MOVED, "block %" PRIu32 " was copied away while it had %" PRIu32
                                " holds and %" PRIu32 " uses", block->op, block->hold_count, block->use_count);
        }
        at = span.end;
    }
    return true;
}

/* Writing over a queued free is wrong even if its events complete before the call returns. */
static bool check_copy(struct judge *judge, struct host *host, const struct device_call *copy)
{
    struct span span;
    uint64_t at = copy->to;
    while (span_map_intersects(model_map(host->model), at, copy->to + copy->bytes, &span)) {
        const struct block *block = model_block(host->model, (uint32_t)span.owner);
        if (block->state == BLOCK_DYING) {
            return judge_broken(judge, RULE_REUSED_EARLY,
                                "a copy to 0x%" PRIx64 " overwrites block %" PRIu32 ", whose events are not done",
                                copy->to, block->op);
        }
        at = span.end;
    }
    return true;
}

static bool may_evict(const struct host *host, const struct op *op)
{
    switch ((enum op_kind)op->kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
        return host->contract.evicts;
    case OP_LOAD:
    case OP_EXECUTE:
        return host->contract.program_evicts_program;
    default:
        return false;
    }
}

static bool check_unload(struct judge *judge, struct host *host, const struct call *call,
                         const struct device_call *unload)
{
    const uint64_t op = unload->from - 1;
    const uint32_t slot = op < OP_NONE ? model_slot_of_op(host->model, (uint32_t)op) : SLOT_NONE;
    const struct block *program = slot == SLOT_NONE ? NULL : model_block(host->model, slot);
    if (program == NULL || program->kind != BLOCK_PROGRAM || program->state != BLOCK_LIVE) {
        return judge_broken(judge, RULE_WRONG_EVICTION, "evicted program %" PRIu64 ", which is not loaded", op);
    }
    if (program->use_count > 0) {
        return judge_broken(judge, RULE_BUSY_EVICTED, "evicted program %" PRIu64 " with %" PRIu32
                            " unfinished executions", op, program->use_count);
    }
    if (!may_evict(host, &call->op) || slot == call->slot) {
        return judge_broken(judge, RULE_WRONG_EVICTION, "evicted program %" PRIu64 " for a request that may not", op);
    }
    judge->spent.evicted_count++;
    judge->spent.evicted_bytes += program->size_bytes;
    model_evict(host->model, slot);
    judge_clear_gone(host);
    return true;
}

/* The first eviction or move of a request: what it spends is held against the cheapest plan from here. */
static void begin_spending(struct judge *judge, const struct host *host, const struct call *call)
{
    if (judge->is_spending || !judge_is_request(&call->op)) {
        return;
    }
    const struct oom_request request = judge_request(host, call);
    oom_take(&judge->before, host->model, &request, 0);
    judge->is_spending = true;
}

static bool absorb_device_call(struct judge *judge, struct host *host, const struct call *call,
                               const struct device_call *made, bool *moved)
{
    switch (made->kind) {
    case DEVICE_CALL_UNLOAD:
        begin_spending(judge, host, call);
        return check_unload(judge, host, call, made);
    case DEVICE_CALL_STAGE_OUT:
        begin_spending(judge, host, call);
        judge->spent.moved_bytes += made->bytes;
        return check_source(judge, host, made);
    case DEVICE_CALL_STAGE_IN:
        *moved = true;
        return check_copy(judge, host, made);
    case DEVICE_CALL_COPY:
        begin_spending(judge, host, call);
        judge->spent.moved_bytes += made->bytes;
        *moved = true;
        return check_copy(judge, host, made) && check_source(judge, host, made);
    default:
        return true;
    }
}

/* Replays the log of the call in its order; *moved is set when blocks were moved. */
bool judge_device_calls(struct judge *judge, struct host *host, const struct call *call, bool *moved)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i++) {
        absorb_until(judge, calls[i].completed_before);
        if (calls[i].result != DEVICE_OK) {
            continue;
        }
        is_good = absorb_device_call(judge, host, call, &calls[i], moved);
    }
    if (is_good) {
        judge_absorb_all(judge);
    }
    if (device_hung(host->device)) {
        return judge_broken(judge, RULE_HANG, "the op went on making device calls: more than 64 for each block and event");
    }
    if (device_left_range(host->device)) {
        return judge_broken(judge, RULE_OUTSIDE, "a copy left the device");
    }
    return is_good;
}

/* --- moves ----------------------------------------------------------------------------------- */

static bool check_move(struct judge *judge, const struct host *host, const struct block *block, uint64_t address,
                       bool moved, const struct call *call)
{
    if (address == block->address) {
        return true;
    }
    if (!moved && call->result != TARGET_OK) {
        return judge_broken(judge, RULE_FAILED_CHANGED, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64
                            " in a call that failed", block->op, block->address, address);
    }
    if (!moved || host->contract.defrag == DEFRAG_NONE) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64,
                            block->op, block->address, address);
    }
    if (!block_is_movable(block)) {
        return judge_broken(judge, RULE_HELD_MOVED, "block %" PRIu32 " moved though it has %" PRIu32
                            " holds and %" PRIu32 " uses", block->op, block->hold_count, block->use_count);
    }
    if (address > model_capacity_bytes(host->model) ||
        block->size_bytes > model_capacity_bytes(host->model) - address) {
        return judge_broken(judge, RULE_OUTSIDE, "block %" PRIu32 " moved to 0x%" PRIx64, block->op, address);
    }
    if (address % block->align_bytes != 0) {
        return judge_broken(judge, RULE_MISALIGNED, "block %" PRIu32 " moved to 0x%" PRIx64, block->op, address);
    }
    if (address < model_reserved_bytes(host->model)) {
        return judge_broken(judge, RULE_OVERLAP, "block %" PRIu32 " moved to 0x%" PRIx64
                            ", into the stack, which ends at 0x%" PRIx64, block->op, address,
                            model_reserved_bytes(host->model));
    }
    return true;
}

/* What a block holds is what was asked for: the rest up to the granule has no contents to keep. */
void judge_stamp(const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    device_stamp(host->device, block->address, block->requested_bytes, slot);
}

bool judge_has_contents(const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    return device_holds(host->device, block->address, block->requested_bytes, slot);
}

/* Every block's contents, after moves: the moved ones and those they may have been written over.  Then the
 * device may forget the ranges: each block holds itself. */
bool judge_contents(struct judge *judge, const struct host *host)
{
    struct span_cursor cursor;
    struct span span;
    const struct span_map *map = model_map(host->model);
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        if (!judge_has_contents(host, (uint32_t)span.owner)) {
            return judge_broken(judge, RULE_CONTENTS, "block %" PRIu32 " at 0x%" PRIx64 " lost its contents",
                                model_block(host->model, (uint32_t)span.owner)->op, span.start);
        }
    }
    device_settle(host->device);
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        judge_stamp(host, (uint32_t)span.owner);
    }
    return true;
}

/* Asks where all blocks are now and checks each change of place. */
bool judge_places(struct judge *judge, struct host *host, const struct call *call, bool moved)
{
    const struct span_map *map = model_map(host->model);
    uint64_t *addresses = malloc((map->count + 1) * sizeof *addresses);
    CHECK(addresses != NULL);
    struct span_cursor cursor;
    struct span span;
    size_t count = 0;
    bool is_good = true;
    bool changed = false;
    for (bool found = span_map_first(map, &cursor); found && is_good; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        const struct block *block = model_block(host->model, (uint32_t)span.owner);
        addresses[count] = judge_address_now(host, block);
        changed = changed || addresses[count] != block->address;
        is_good = check_move(judge, host, block, addresses[count], moved, call);
        if (is_good && host->contract.defrag == DEFRAG_SLIDE && count > 0 && addresses[count] < addresses[count - 1]) {
            is_good = judge_broken(judge, RULE_MOVED_UNASKED, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64
                                   ", past its lower neighbour", block->op, block->address, addresses[count]);
        }
        count++;
    }
    uint32_t slot = 0;
    if (is_good && changed && !model_relocate(host->model, addresses, &slot)) {
        is_good = judge_broken(judge, RULE_OVERLAP, "block %" PRIu32 " was moved onto another block",
                               model_block(host->model, slot)->op);
    }
    free(addresses);
    return is_good;
}
