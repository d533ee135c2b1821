#include "harness/judge.h"

#include "harness/check.h"
#include "harness/judge_said.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_BYTES_MAX ((uint64_t)1 << 63)

void judge_init(struct judge *judge)
{
    judge->oracle = oracle_create();
}

void judge_deinit(struct judge *judge)
{
    oracle_destroy(judge->oracle);
    free(judge->groups);
    judge->oracle = NULL;
    judge->groups = NULL;
}

bool judge_broken(struct judge *judge, enum rule rule, const char *format, ...)
{
    struct verdict *verdict = judge->verdict;
    if (verdict->kind == VERDICT_BROKEN) {
        return false;
    }
    verdict->kind = VERDICT_BROKEN;
    verdict->rule = rule;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->reason, sizeof verdict->reason, format, arguments);
    va_end(arguments);
    return false;
}

/* --- device calls ---------------------------------------------------------------------------- */

/* What became free loses its contents; a target that does not queue frees is told only now. */
static void clear_gone(struct host *host)
{
    size_t count = 0;
    const struct model_gone *gone = model_gone(host->model, &count);
    for (size_t i = 0; i < count; i++) {
        device_scrub(host->device, gone[i].slot);
    }
    model_forget_gone(host->model);
}

static void free_deferred(struct host *host)
{
    size_t count = 0;
    const struct model_gone *gone = model_gone(host->model, &count);
    for (size_t i = 0; i < count; i++) {
        if (gone[i].is_freed && !host->contract.queues_frees && host->instance != NULL) {
            (void)host->target->free(host->instance, gone[i].handle, 0);
        }
    }
    clear_gone(host);
}

static void absorb_until(struct judge *judge, uint64_t completed_count)
{
    while (judge->absorbed_count < completed_count) {
        const uint64_t event = timeline_completed_at(judge->timeline, judge->absorbed_count++);
        /* Blocks of any host may wait for it, not only those of the host that made it. */
        for (uint32_t i = 0; i < judge->host_count; i++) {
            model_complete(judge->hosts[i].model, event);
            free_deferred(&judge->hosts[i]);
        }
    }
}

void judge_absorb_all(struct judge *judge)
{
    absorb_until(judge, timeline_completed_count(judge->timeline));
}

static uint64_t address_now(const struct host *host, const struct block *block)
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
        if (!block_is_movable(block) && address_now(host, block) != block->address) {
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
    model_evict(host->model, slot);
    clear_gone(host);
    return true;
}

/* Replays the log of the call in its order; *moved is set when blocks were moved. */
static bool absorb_device_calls(struct judge *judge, struct host *host, const struct call *call, bool *moved)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i++) {
        absorb_until(judge, calls[i].completed_before);
        if (calls[i].result != DEVICE_OK) {
            continue;
        }
        if (calls[i].kind == DEVICE_CALL_UNLOAD) {
            is_good = check_unload(judge, host, call, &calls[i]);
        } else if (calls[i].kind == DEVICE_CALL_STAGE_OUT) {
            is_good = check_source(judge, host, &calls[i]);
        } else if (calls[i].kind == DEVICE_CALL_COPY || calls[i].kind == DEVICE_CALL_STAGE_IN) {
            *moved = true;
            is_good = check_copy(judge, host, &calls[i]) &&
                      (calls[i].kind != DEVICE_CALL_COPY || check_source(judge, host, &calls[i]));
        }
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
static void stamp(const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    device_stamp(host->device, block->address, block->requested_bytes, slot);
}

static bool has_contents(const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    return device_holds(host->device, block->address, block->requested_bytes, slot);
}

/* Every block's contents, after moves: the moved ones and those they may have been written over.  Then the
 * device may forget the ranges: each block holds itself. */
static bool check_contents(struct judge *judge, const struct host *host)
{
    struct span_cursor cursor;
    struct span span;
    const struct span_map *map = model_map(host->model);
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        if (!has_contents(host, (uint32_t)span.owner)) {
            return judge_broken(judge, RULE_CONTENTS, "block %" PRIu32 " at 0x%" PRIx64 " lost its contents",
                                model_block(host->model, (uint32_t)span.owner)->op, span.start);
        }
    }
    device_settle(host->device);
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        stamp(host, (uint32_t)span.owner);
    }
    return true;
}

/* Asks where all blocks are now and checks each change of place. */
static bool relocate(struct judge *judge, struct host *host, const struct call *call, bool moved)
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
        addresses[count] = address_now(host, block);
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

/* --- answers --------------------------------------------------------------------------------- */

static bool check_new_block(struct judge *judge, const struct host *host, const struct call *call, uint64_t requested,
                            uint64_t align)
{
    const struct target_block *block = &call->block;
    const uint64_t capacity = model_capacity_bytes(host->model);
    if (block->handle == 0) {
        return judge_broken(judge, RULE_HANDLE, "the handle is 0");
    }
    if (block->size_bytes < requested) {
        return judge_broken(judge, RULE_TOO_SMALL, "%" PRIu64 " bytes for a request of %" PRIu64, block->size_bytes,
                            requested);
    }
    if (block->size_bytes > capacity || block->address > capacity - block->size_bytes) {
        return judge_broken(judge, RULE_OUTSIDE, "[0x%" PRIx64 ", +%" PRIu64 ") is not in the device", block->address,
                            block->size_bytes);
    }
    if (block->address % align != 0 || block->size_bytes % host->contract.granule_bytes != 0) {
        return judge_broken(judge, RULE_MISALIGNED, "0x%" PRIx64 " (%" PRIu64 " bytes) is not aligned to %" PRIu64,
                            block->address, block->size_bytes, align);
    }
    if (block->address < model_reserved_bytes(host->model)) {
        return judge_broken(judge, RULE_OVERLAP, "0x%" PRIx64 " lies in the stack, which ends at 0x%" PRIx64,
                            block->address, model_reserved_bytes(host->model));
    }
    return true;
}

static bool lies_on(struct judge *judge, const struct host *host, const struct target_block *block, uint32_t slot)
{
    const struct block *other = model_block(host->model, slot);
    const bool is_dying = other->state == BLOCK_DYING;
    return judge_broken(judge, is_dying ? RULE_REUSED_EARLY : RULE_OVERLAP, "[0x%" PRIx64 ", +%" PRIu64
                        ") lies on %s block %" PRIu32 " at 0x%" PRIx64, block->address, block->size_bytes,
                        is_dying ? "dying" : "live", other->op, other->address);
}

static uint64_t align_of(const struct host *host, const struct op *op)
{
    const uint64_t align = (uint64_t)1 << op->align_log2;
    return align > host->contract.granule_bytes ? align : host->contract.granule_bytes;
}

static bool take_block(struct judge *judge, struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    const uint64_t align = align_of(host, op);
    if (!check_new_block(judge, host, call, op->size_bytes, align)) {
        return false;
    }
    const enum block_kind kind =
        op->kind == OP_LOAD ? BLOCK_PROGRAM : op->kind == OP_OUTPUT ? BLOCK_OUTPUT : BLOCK_BUFFER;
    const uint64_t granule = host->contract.granule_bytes;
    const struct model_new what = {
        .requested_bytes = op->size_bytes,
        .align_bytes = align,
        .stack_bytes = op->kind == OP_LOAD ? (op->stack_bytes + granule - 1) & ~(granule - 1) : 0,
        .stack_requested_bytes = op->kind == OP_LOAD ? op->stack_bytes : 0,
        .kind = kind,
        .tag = op->tag,
    };
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    if (!model_add(host->model, &what, &call->block, &slot, &other)) {
        return lies_on(judge, host, &call->block, other);
    }
    /* A walk over the blocks: only where there is a stack to ask about. */
    const uint64_t reservable =
        what.stack_bytes == 0 ? 0 : oracle_reservable(judge->oracle, host->model).high_bytes;
    if (what.stack_bytes > reservable) {
        return judge_broken(judge, RULE_STATUS, "load returned OK, but of its stack of %" PRIu64 " bytes no more than %"
                            PRIu64 " can be reserved", what.stack_bytes, reservable);
    }
    model_reserve_briefly(host->model, what.stack_bytes);
    stamp(host, slot);
    return true;
}

static bool take_donation(struct judge *judge, struct host *host, const struct call *call)
{
    const struct block *block = model_block(host->model, call->slot);
    if (call->block.handle == 0) {
        return judge_broken(judge, RULE_HANDLE, "the handle is 0");
    }
    if (call->block.address != block->address || call->block.size_bytes != block->size_bytes) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "a donation took 0x%" PRIx64 " instead of its input's 0x%" PRIx64,
                            call->block.address, block->address);
    }
    /* The new buffer asked for no alignment of its own. */
    const struct model_new what = {.requested_bytes = call->op.size_bytes,
                                   .align_bytes = host->contract.granule_bytes,
                                   .kind = BLOCK_OUTPUT,
                                   .tag = call->op.tag};
    stamp(host, model_donate(host->model, call->slot, &what, &call->block));
    return true;
}

/* The program runs: its image is there, its stack is reserved. */
static bool take_execution(struct judge *judge, struct host *host, const struct call *call)
{
    const struct block *program = model_block(host->model, call->slot);
    if (program->state == BLOCK_GONE) {
        if (!check_new_block(judge, host, call, program->requested_bytes, program->align_bytes)) {
            return false;
        }
        uint32_t other = SLOT_NONE;
        if (!model_reload(host->model, call->slot, &call->block, &other)) {
            return lies_on(judge, host, &call->block, other);
        }
        stamp(host, call->slot);
    } else if (call->block.address != program->address) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "the image of program %" PRIu32 " is said to be at 0x%" PRIx64
                            " but was at 0x%" PRIx64, program->op, call->block.address, program->address);
    }
    /* An execution of no duration is over already; its reservation was made all the same. */
    model_reserve_briefly(host->model, program->stack_bytes);
    model_use(host->model, call->slot, call->event);
    struct span span;
    const uint64_t stack = model_reserved_bytes(host->model);
    if (stack > model_capacity_bytes(host->model) || span_map_intersects(model_map(host->model), 0, stack, &span)) {
        return judge_broken(judge, RULE_OVERLAP, "the stack [0, 0x%" PRIx64 ") lies on a block", stack);
    }
    return true;
}

static bool check_touch(struct judge *judge, const struct host *host, const struct call *call)
{
    const struct block *block = model_block(host->model, call->slot);
    const uint64_t address = address_now(host, block);
    if (address != block->address) {
        return judge_broken(judge, RULE_MOVED_UNASKED, "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64,
                            block->op, block->address, address);
    }
    return has_contents(host, call->slot) ||
           judge_broken(judge, RULE_CONTENTS, "block %" PRIu32 " at 0x%" PRIx64 " lost its contents", block->op,
                        block->address);
}

/* Takes an answer TARGET_OK into the model. */
static bool take_success(struct judge *judge, struct host *host, const struct call *call)
{
    switch ((enum op_kind)call->op.kind) {
    case OP_ALLOC:
    case OP_OUTPUT:
    case OP_LOAD:
        return take_block(judge, host, call);
    case OP_DONATE:
        return take_donation(judge, host, call);
    case OP_FREE:
    case OP_FREE_AFTER:
    case OP_UNLOAD:
        model_free(host->model, call->slot, call->event);
        /* A deferred free whose event is done already is not in the way of anything: the target is told. */
        if (call->is_deferred) {
            free_deferred(host);
        }
        clear_gone(host);
        return true;
    case OP_USE:
        model_use(host->model, call->slot, call->event);
        return true;
    case OP_HOLD:
        model_hold(host->model, call->slot);
        return true;
    case OP_RELEASE:
        model_release(host->model, call->slot);
        free_deferred(host);
        return true;
    case OP_EXECUTE:
        return take_execution(judge, host, call);
    case OP_TOUCH:
        return check_touch(judge, host, call);
    default:
        return true;
    }
}

static bool is_request(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD || op->kind == OP_EXECUTE;
}

/* What size_bytes makes of a request that can never be right. */
static bool is_invalid_request(const struct op *op)
{
    return (op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD) &&
           (op->size_bytes == 0 || op->size_bytes > REQUEST_BYTES_MAX ||
            (op->kind == OP_LOAD && op->stack_bytes > REQUEST_BYTES_MAX));
}

static bool check_status(struct judge *judge, const struct host *host, const struct call *call)
{
    static const char *const names[] = {"OK", "NO_MEMORY", "INVALID", "FAILED"};
    const struct op *op = &call->op;
    if ((unsigned)call->result >= sizeof names / sizeof names[0]) {
        return judge_broken(judge, RULE_STATUS, "the result is %u, which is none", (unsigned)call->result);
    }
    const bool may_fail = device_faults_fired(host->device) != 0;
    if (call->result == TARGET_FAILED && may_fail) {
        return true;
    }
    if (is_invalid_request(op) != (call->result == TARGET_INVALID) || call->result == TARGET_FAILED ||
        (call->result == TARGET_NO_MEMORY && !is_request(op))) {
        return judge_broken(judge, RULE_STATUS, "%s returned %s", op_kind_info(op->kind)->name, names[call->result]);
    }
    return true;
}

/* --- out of memory ---------------------------------------------------------------------------- */

static struct oracle_request make_request(const struct judge *judge, const struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    const uint64_t granule = host->contract.granule_bytes;
    struct oracle_request request = {
        .class = op->kind == OP_ALLOC || op->kind == OP_OUTPUT ? REQUEST_BUFFER : REQUEST_PROGRAM,
        .size_bytes = op->size_bytes,
        .align_bytes = align_of(host, op),
        .own_slot = call->slot,
        .faults_fired = device_faults_fired(host->device),
        .nodes_max = judge->nodes_max,
    };
    if (op->kind == OP_LOAD) {
        /* Above 2^63 it was invalid already: the sum cannot overflow. */
        request.stack_bytes = (op->stack_bytes + granule - 1) & ~(granule - 1);
    } else if (op->kind == OP_EXECUTE) {
        const struct block *program = model_block(host->model, call->slot);
        request.size_bytes = program->state == BLOCK_GONE ? program->requested_bytes : 0;
        request.stack_bytes = program->stack_bytes;
    }
    return request;
}

static bool judge_no_memory(struct judge *judge, struct host *host, const struct call *call)
{
    const struct oracle_request request = make_request(judge, host, call);
    struct verdict *verdict = judge->verdict;
    /* Each is at most 2^63. */
    if (__builtin_add_overflow(request.size_bytes, request.stack_bytes, &verdict->requested_bytes)) {
        verdict->requested_bytes = UINT64_MAX;
    }
    verdict->free_bytes = model_free_bytes(host->model);
    oracle_judge(judge->oracle, host->model, &request, verdict);
    if (verdict->kind == VERDICT_PREMATURE) {
        return false;
    }
    const struct verdict judged = *verdict;
    if (!judge_message(judge, host, &request, call)) {
        return false;
    }
    *verdict = judged;
    return true;
}

/* Each host of a round must get the same answer as the first; a host's second turn and a different request begin
 * a new round. */
static bool check_spmd(struct judge *judge, const struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    /* A host whose device refused a call may answer for itself. */
    if ((op->flags & OP_SPMD) == 0 || device_faults_fired(host->device) != 0) {
        return true;
    }
    if (judge->groups == NULL) {
        judge->groups = calloc((size_t)UINT16_MAX + 1, sizeof *judge->groups);
        CHECK(judge->groups != NULL);
    }
    struct judge_group *group = &judge->groups[op->group];
    const uint64_t host_bit = (uint64_t)1 << host->index;
    const struct op *first = &judge->ops->ops[group->first_op < judge->ops->count ? group->first_op : 0];
    const bool is_same_request = first->kind == op->kind && first->size_bytes == op->size_bytes &&
                                 first->align_log2 == op->align_log2 &&
                                 (op->kind != OP_LOAD || first->stack_bytes == op->stack_bytes);
    if (group->hosts_seen == 0 || (group->hosts_seen & host_bit) != 0 || !is_same_request) {
        *group = (struct judge_group){.first_op = call->number, .result = (uint8_t)call->result};
    }
    group->hosts_seen |= host_bit;
    return group->result == (uint8_t)call->result ||
           judge_broken(judge, RULE_SPMD, "host %u got another answer than op %" PRIu32 " of the same request",
                        host->index, group->first_op);
}

/* --- one op ----------------------------------------------------------------------------------- */

static bool judge_answer(struct judge *judge, struct host *host, const struct call *call)
{
    bool moved = false;
    if (!absorb_device_calls(judge, host, call, &moved) || !check_status(judge, host, call)) {
        return false;
    }
    const bool failed = call->result != TARGET_OK;
    if ((moved || failed || call->op.kind == OP_REPORT) && !relocate(judge, host, call, moved)) {
        return false;
    }
    if (moved && !check_contents(judge, host)) {
        return false;
    }
    if (!failed && !take_success(judge, host, call)) {
        return false;
    }
    return (call->result != TARGET_NO_MEMORY || judge_no_memory(judge, host, call)) && check_spmd(judge, host, call);
}

void judge_call(struct judge *judge, struct host *host, const struct call *call)
{
    if (!judge_answer(judge, host, call)) {
        return;
    }
    judge_absorb_all(judge);
    const bool in_full = call->op.kind == OP_REPORT || call->result == TARGET_NO_MEMORY;
    struct target_stats stats = {0};
    host->target->stats(host->instance, &stats);
    if (judge_counters(judge, host, &stats, in_full) && call->op.kind == OP_REPORT &&
        judge_report(judge, host)) {
        judge_handles(judge, host);
    }
}

void judge_empty_heap(struct judge *judge, struct host *host)
{
    struct target_stats stats = {0};
    host->target->stats(host->instance, &stats);
    CHECK(model_in_use_bytes(host->model) == 0);
    judge_counters(judge, host, &stats, true);
}

void judge_closed(struct judge *judge, struct host *host)
{
    if (device_host_bytes(host->device) != 0) {
        judge_broken(judge, RULE_HOST_MEMORY, "%" PRIu64 " bytes of host memory were not given back",
                     device_host_bytes(host->device));
    }
}
