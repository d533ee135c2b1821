#include "harness/rules/judge_oom.h"
#include "harness/rules/private/judge_place.h"

#include <inttypes.h>

/* --- completions --- */

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

/* --- copies and stages --- */

/* A block that is in use when it is copied away is moved while in use, even if the use ends before
 * the call returns. */
static bool check_source(struct judge *judge, const struct host *host, const struct call *call,
                         const struct device_call *copy)
{
    struct span span;
    uint64_t at = copy->from;
    while (span_map_intersects(model_map(host->model), at, copy->from + copy->bytes, &span)) {
        const uint32_t slot = (uint32_t)span.owner;
        const struct block *block = model_block(host->model, slot);
        uint64_t address = 0;
        if (!block_is_movable(block) &&
            judge_find_place(judge, host, call, slot, &address) == PLACE_DEVICE &&
            address != block->address) {
            return judge_broken(judge, RULE_HELD_MOVED,
                                "block %" PRIu32 " was copied away while it had %" PRIu32
                                " holds and %" PRIu32 " uses",
                                block->op, block->hold_count, block->use_count);
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
        if (block->kind == BLOCK_RETIRED) {
            return judge_broken(judge, RULE_CONTENTS,
                                "a copy to 0x%" PRIx64 " lies on memory that went bad", copy->to);
        }
        if (block->state == BLOCK_DYING) {
            return judge_broken(judge, RULE_REUSED_EARLY,
                                "a copy to 0x%" PRIx64 " overwrites block %" PRIu32
                                ", whose events are not done",
                                copy->to, block->op);
        }
        at = span.end;
    }
    return true;
}

/* --- evictions --- */

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

/* Whether the program may be evicted; slot is SLOT_NONE where no op made one of that number. */
static bool check_eviction(struct judge *judge, const struct host *host, const struct call *call,
                           uint64_t op, uint32_t slot)
{
    const struct block *program = slot == SLOT_NONE ? NULL : model_block(host->model, slot);
    if (program == NULL || program->kind != BLOCK_PROGRAM || program->state != BLOCK_LIVE) {
        return judge_broken(judge, RULE_WRONG_EVICTION,
                            "evicted program %" PRIu64 ", which is not loaded", op);
    }
    if (program->use_count > 0) {
        return judge_broken(judge, RULE_BUSY_EVICTED,
                            "evicted program %" PRIu64 " with %" PRIu32 " unfinished executions",
                            op, program->use_count);
    }
    if (!may_evict(host, &call->op) || slot == call->slot) {
        return judge_broken(judge, RULE_WRONG_EVICTION,
                            "evicted program %" PRIu64 " for a request that may not", op);
    }
    return true;
}

static bool take_unload(struct judge *judge, struct host *host, const struct call *call,
                        const struct device_call *unload)
{
    const uint64_t op = unload->from - 1;
    const uint32_t slot = op < OP_NONE ? model_slot_of_op(host->model, (uint32_t)op) : SLOT_NONE;
    if (!check_eviction(judge, host, call, op, slot)) {
        return false;
    }
    /* Half an image is of no use, but the program is gone only when all of it is. */
    if (unload->result == DEVICE_PARTIAL) {
        return true;
    }
    judge->spent.evicted_count++;
    judge->spent.evicted_bytes += model_block(host->model, slot)->size_bytes;
    model_evict(host->model, slot);
    judge_clear_gone(host);
    return true;
}

/* --- the log --- */

/* The first eviction or move of a request: what it spends is held against the cheapest plan from
 * here. */
static void begin_spending(struct judge *judge, const struct host *host, const struct call *call)
{
    /* What room is kept for an absent block cannot be seen. */
    if (judge->is_spending || !judge_is_request(&call->op) || model_absent_count(host->model) > 0) {
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
        return take_unload(judge, host, call, made);
    case DEVICE_CALL_STAGE_OUT:
        begin_spending(judge, host, call);
        judge->spent.moved_bytes += made->bytes;
        *moved = true;
        return check_source(judge, host, call, made);
    case DEVICE_CALL_STAGE_IN:
        *moved = true;
        return check_copy(judge, host, made);
    case DEVICE_CALL_COPY:
        begin_spending(judge, host, call);
        judge->spent.moved_bytes += made->bytes;
        *moved = true;
        return check_copy(judge, host, made) && check_source(judge, host, call, made);
    default:
        return true;
    }
}

/* Bounds that no single call breaks. */
static bool check_bounds(struct judge *judge, const struct host *host)
{
    if (device_hung(host->device)) {
        return judge_broken(
            judge, RULE_HANG,
            "the op went on polling, or making device calls: more than 64 for each block and event");
    }
    return !device_left_range(host->device) ||
           judge_broken(judge, RULE_OUTSIDE, "a copy left the device");
}

bool judge_device_calls(struct judge *judge, struct host *host, const struct call *call,
                        bool *moved)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i++) {
        absorb_until(judge, calls[i].completed_before);
        if (calls[i].result != DEVICE_OK && calls[i].result != DEVICE_PARTIAL) {
            continue;
        }
        is_good = absorb_device_call(judge, host, call, &calls[i], moved);
    }
    if (is_good) {
        judge_absorb_all(judge);
    }
    return check_bounds(judge, host) && is_good;
}
