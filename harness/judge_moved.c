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

/* --- where a block is ------------------------------------------------------------------------- */

/* The op took the handle of the block that it names. */
static bool ended_handle(const struct call *call, uint32_t slot)
{
    const uint8_t kind = call->op.kind;
    return slot == call->slot && call->result == TARGET_OK && !call->is_deferred &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD);
}

/* By which the target can be asked where the block is; 0 = by none. */
static uint64_t handle_now(const struct host *host, const struct call *call, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    if (!block->is_known || host->target->locate == NULL || ended_handle(call, slot)) {
        return 0;
    }
    const bool is_donated = slot == call->slot && call->op.kind == OP_DONATE && call->result == TARGET_OK;
    return is_donated ? call->block.handle : block->handle;
}

enum place {
    PLACE_DEVICE, /* at an address */
    PLACE_HOST,   /* in host memory alone: the block is absent */
    PLACE_NONE    /* the target says of no place that it is there, and it is not in host memory */
};

/* For a block of which the target cannot be asked: it goes where its bytes go. */
static enum place follow(const struct host *host, const struct call *call, uint32_t slot, uint64_t *address)
{
    const struct block *block = model_block(host->model, slot);
    bool is_absent = block->is_absent;
    size_t count = 0;
    const struct device_call *made = device_calls(host->device, &count);
    *address = block->address;
    for (size_t i = 0; i < count; i++) {
        const bool is_back = made[i].kind == DEVICE_CALL_STAGE_IN && made[i].owner == slot;
        const bool is_copied = made[i].kind == DEVICE_CALL_COPY && !is_absent && made[i].from == *address;
        /* Dying before this op, it may come back, but then stays. */
        if (made[i].result == DEVICE_OK && (is_back || (is_copied && ended_handle(call, slot)))) {
            *address = made[i].to;
            is_absent = false;
        }
    }
    if (!is_absent &&
        (!ended_handle(call, slot) || device_holds(host->device, *address, block->requested_bytes, slot))) {
        return PLACE_DEVICE;
    }
    return device_has_staged(host->device, slot, block->requested_bytes) ? PLACE_HOST
           : is_absent                                                   ? PLACE_NONE
                                                                         : PLACE_DEVICE;
}

/* Where the block is after the op; *address is set for PLACE_DEVICE alone. */
static enum place find_place(const struct host *host, const struct call *call, uint32_t slot, uint64_t *address)
{
    const struct block *block = model_block(host->model, slot);
    const uint64_t handle = handle_now(host, call, slot);
    struct target_block at = {0};
    if (handle != 0 && host->target->locate(host->instance, handle, &at) == TARGET_OK) {
        *address = at.address;
        return PLACE_DEVICE;
    }
    if (handle != 0 && host->contract.defrag != DEFRAG_NONE) {
        return device_has_staged(host->device, slot, block->requested_bytes) ? PLACE_HOST : PLACE_NONE;
    }
    if (block->is_absent || ended_handle(call, slot)) {
        return follow(host, call, slot, address);
    }
    *address = block->address;
    return PLACE_DEVICE;
}

static bool lost(struct judge *judge, const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    if (!block->is_absent && judge_has_contents(host, slot)) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "block %" PRIu32 " was at 0x%" PRIx64
                            " and has no address now, but host memory does not hold it", block->op, block->address);
    }
    return judge_broken(judge, RULE_CONTENTS, "block %" PRIu32
                        " has no address, and host memory does not hold its contents", block->op);
}

bool judge_touched(struct judge *judge, const struct host *host, const struct call *call)
{
    const struct block *block = model_block(host->model, call->slot);
    uint64_t address = 0;
    const enum place place = find_place(host, call, call->slot, &address);
    if (place == PLACE_NONE) {
        return lost(judge, host, call->slot);
    }
    if ((place == PLACE_HOST) != block->is_absent) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "block %" PRIu32 " went %s host memory", block->op,
                            block->is_absent ? "from" : "to");
    }
    if (block->is_absent) {
        return true;
    }
    if (address != block->address) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64,
                            block->op, block->address, address);
    }
    return judge_has_contents(host, call->slot) ||
           judge_broken(judge, RULE_CONTENTS, "block %" PRIu32 " at 0x%" PRIx64 " lost its contents", block->op,
                        block->address);
}

/* --- device calls, one by one ------------------------------------------------------------------ */

/* A block that is in use when it is copied away is moved while in use, even if the use ends before the call
 * returns. */
static bool check_source(struct judge *judge, const struct host *host, const struct call *call,
                         const struct device_call *copy)
{
    struct span span;
    uint64_t at = copy->from;
    while (span_map_intersects(model_map(host->model), at, copy->from + copy->bytes, &span)) {
        const uint32_t slot = (uint32_t)span.owner;
        const struct block *block = model_block(host->model, slot);
        uint64_t address = 0;
        if (!block_is_movable(block) && find_place(host, call, slot, &address) == PLACE_DEVICE &&
            address != block->address) {
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
        if (block->kind == BLOCK_RETIRED) {
            return judge_broken(judge, RULE_CONTENTS, "a copy to 0x%" PRIx64 " lies on memory that went bad", copy->to);
        }
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
    /* Half an image is of no use, but the program is gone only when all of it is. */
    if (unload->result == DEVICE_PARTIAL) {
        return true;
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
        return check_unload(judge, host, call, made);
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

/* Replays the log of the call in its order; *moved is set when blocks were moved. */
bool judge_device_calls(struct judge *judge, struct host *host, const struct call *call, bool *moved)
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
    if (device_hung(host->device)) {
        return judge_broken(judge, RULE_HANG,
                            "the op went on polling, or making device calls: more than 64 for each block and event");
    }
    if (device_left_range(host->device)) {
        return judge_broken(judge, RULE_OUTSIDE, "a copy left the device");
    }
    return is_good;
}

/* --- moves ----------------------------------------------------------------------------------- */

/* While blocks are brought up to date after an op. */
struct placing {
    struct judge *judge;
    struct host *host;
    const struct call *call;
    bool moved;          /* something was copied or staged */
    uint64_t *addresses; /* of the blocks that stay in the map, in its order; count of them */
    size_t count;
    bool has_changes;    /* of address */
    uint32_t *stranded;  /* slots of those that left it; stranded_count */
    size_t stranded_count;
};

static bool check_place(const struct placing *placing, const struct block *block, uint64_t address)
{
    struct judge *judge = placing->judge;
    const struct model *model = placing->host->model;
    if (address > model_capacity_bytes(model) || block->size_bytes > model_capacity_bytes(model) - address) {
        return judge_broken(judge, RULE_OUTSIDE, "block %" PRIu32 " moved to 0x%" PRIx64, block->op, address);
    }
    if (address % block->align_bytes != 0) {
        return judge_broken(judge, RULE_MISALIGNED, "block %" PRIu32 " moved to 0x%" PRIx64, block->op, address);
    }
    if (address < model_reserved_bytes(model)) {
        return judge_broken(judge, RULE_OVERLAP, "block %" PRIu32 " moved to 0x%" PRIx64
                            ", into the stack, which ends at 0x%" PRIx64, block->op, address,
                            model_reserved_bytes(model));
    }
    return true;
}

/* What the op freed may have been moved before that, unless it was in use. */
static bool check_movable(const struct placing *placing, uint32_t slot)
{
    const struct block *block = model_block(placing->host->model, slot);
    const bool may_move = ended_handle(placing->call, slot) ? block->hold_count == 0 && block->use_count == 0
                                                            : block_is_movable(block);
    return may_move || judge_broken(placing->judge, RULE_HELD_MOVED, "block %" PRIu32 " moved though it has %" PRIu32
                                    " holds and %" PRIu32 " uses", block->op, block->hold_count, block->use_count);
}

static bool check_move(const struct placing *placing, uint32_t slot, uint64_t address)
{
    struct judge *judge = placing->judge;
    const struct block *block = model_block(placing->host->model, slot);
    if (address == block->address) {
        return true;
    }
    if (!placing->moved && placing->call->result != TARGET_OK) {
        return judge_broken(judge, RULE_FAILED_CHANGED, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64
                            " in a call that failed", block->op, block->address, address);
    }
    if (!placing->moved || placing->host->contract.defrag == DEFRAG_NONE) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64,
                            block->op, block->address, address);
    }
    /* Where calls overlapped, each move was held against its own instant. */
    return (placing->judge->is_overlapping || check_movable(placing, slot)) && check_place(placing, block, address);
}

/* Only a device that refuses may leave a block in host memory, and only where blocks change places. */
static bool check_stranding(const struct placing *placing, uint32_t slot)
{
    const struct host *host = placing->host;
    const struct block *block = model_block(host->model, slot);
    if (host->contract.defrag != DEFRAG_REPACK || device_faults_fired(host->device) == 0) {
        return judge_broken(placing->judge, RULE_MOVED_UNASKED, "block %" PRIu32
                            " was left in host memory, though %s", block->op,
                            host->contract.defrag != DEFRAG_REPACK ? "the contract has no block change places"
                                                                   : "no call was refused");
    }
    return check_movable(placing, slot);
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
    for (size_t i = 0; i < model_absent_count(host->model); i++) {
        const uint32_t slot = model_absent_slot(host->model, i);
        if (!device_has_staged(host->device, slot, model_block(host->model, slot)->requested_bytes)) {
            return lost(judge, host, slot);
        }
    }
    device_settle(host->device);
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        judge_stamp(host, (uint32_t)span.owner);
    }
    return true;
}

/* Where a block that has a range is now. */
static bool place_block(struct placing *placing, uint32_t slot)
{
    const struct host *host = placing->host;
    const struct block *block = model_block(host->model, slot);
    uint64_t *address = &placing->addresses[placing->count];
    switch (find_place(host, placing->call, slot, address)) {
    case PLACE_HOST:
        placing->stranded[placing->stranded_count++] = slot;
        return check_stranding(placing, slot);
    case PLACE_NONE:
        return lost(placing->judge, host, slot);
    default:
        break;
    }
    const uint64_t *below = placing->count > 0 ? address - 1 : NULL;
    placing->count++;
    placing->has_changes = placing->has_changes || *address != block->address;
    if (!check_move(placing, slot, *address)) {
        return false;
    }
    return host->contract.defrag != DEFRAG_SLIDE || below == NULL || *address >= *below ||
           judge_broken(placing->judge, RULE_MOVED_UNASKED, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64
                        ", past its lower neighbour", block->op, block->address, *address);
}

/* An absent block: back at an address, or still in host memory. */
static bool place_absent(const struct placing *placing, uint32_t slot)
{
    struct host *host = placing->host;
    const struct block *block = model_block(host->model, slot);
    uint64_t address = 0;
    uint32_t other = SLOT_NONE;
    const enum place place = find_place(host, placing->call, slot, &address);
    if (place != PLACE_DEVICE) {
        return place == PLACE_HOST || lost(placing->judge, host, slot);
    }
    if (!placing->moved) {
        return judge_broken(placing->judge, RULE_MOVED_UNASKED, "block %" PRIu32 " came back from host memory to 0x%"
                            PRIx64 ", but nothing was copied", block->op, address);
    }
    if (!check_place(placing, block, address)) {
        return false;
    }
    return model_return(host->model, slot, address, &other) ||
           judge_broken(placing->judge, RULE_OVERLAP, "block %" PRIu32
                        " came back from host memory onto block %" PRIu32, block->op, model_block(host->model, other)->op);
}

static bool place_all(struct placing *placing)
{
    struct model *model = placing->host->model;
    const struct span_map *map = model_map(model);
    struct span_cursor cursor;
    struct span span;
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        if (!place_block(placing, (uint32_t)span.owner)) {
            return false;
        }
    }
    for (size_t i = 0; i < placing->stranded_count; i++) {
        model_strand(model, placing->stranded[i]);
    }
    uint32_t slot = 0;
    if (placing->has_changes && !model_relocate(model, placing->addresses, &slot)) {
        return judge_broken(placing->judge, RULE_OVERLAP, "block %" PRIu32 " was moved onto another block",
                            model_block(model, slot)->op);
    }
    /* From the last on: one that returns changes the places of those behind it. */
    for (size_t i = model_absent_count(model); i-- > 0;) {
        if (!place_absent(placing, model_absent_slot(model, i))) {
            return false;
        }
    }
    return true;
}

bool judge_places(struct judge *judge, struct host *host, const struct call *call, bool moved)
{
    const size_t count = model_map(host->model)->count;
    struct judge_places *scratch = &judge->places;
    if (count > scratch->capacity) {
        scratch->capacity = 2 * count;
        scratch->addresses = realloc(scratch->addresses, scratch->capacity * sizeof *scratch->addresses);
        scratch->stranded = realloc(scratch->stranded, scratch->capacity * sizeof *scratch->stranded);
        CHECK(scratch->addresses != NULL);
        CHECK(scratch->stranded != NULL);
    }
    struct placing placing = {.judge = judge, .host = host, .call = call, .moved = moved,
                              .addresses = scratch->addresses, .stranded = scratch->stranded};
    return place_all(&placing);
}
