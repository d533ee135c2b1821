#include "harness/judge_overlap.h"

#include "harness/align.h"
#include "harness/array.h"
#include "harness/check.h"
#include "harness/judge_host.h"
#include "harness/judge_moved.h"
#include "harness/judge_oom.h"
#include "harness/judge_said.h"
#include "harness/overlap_moves.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what happened ---------------------------------------------------------------------------------- */

void overlap_clear(struct overlap *overlap)
{
    for (size_t i = 0; i < overlap->call_count; i++) {
        free(overlap->calls[i].message);
    }
    overlap->call_count = overlap->mark_count = 0;
    overlap->under_way_count = 0;
}

void overlap_deinit(struct overlap *overlap)
{
    overlap_clear(overlap);
    free(overlap->calls);
    free(overlap->marks);
    *overlap = (struct overlap){0};
}

static void add_mark(struct overlap *overlap, const struct judge *judge, uint32_t call, bool is_return)
{
    overlap->marks =
        array_grown(overlap->marks, overlap->mark_count, &overlap->mark_capacity, sizeof *overlap->marks);
    struct overlap_mark *mark = &overlap->marks[overlap->mark_count++];
    mark->call = call;
    mark->is_return = is_return;
    mark->completed_count = timeline_completed_count(judge->timeline);
    for (uint32_t i = 0; i < judge->host_count; i++) {
        size_t count = 0;
        (void)device_calls(judge->hosts[i].device, &count);
        mark->device_call_counts[i] = (uint32_t)count;
    }
}

uint32_t overlap_begin(struct overlap *overlap, const struct judge *judge, struct host *host, uint8_t lane)
{
    overlap->calls =
        array_grown(overlap->calls, overlap->call_count, &overlap->call_capacity, sizeof *overlap->calls);
    const uint32_t number = (uint32_t)overlap->call_count++;
    overlap->calls[number] = (struct overlap_call){.host = host, .lane = lane};
    overlap->under_way_count++;
    add_mark(overlap, judge, number, false);
    return number;
}

void overlap_stretch(struct overlap *overlap, const struct judge *judge)
{
    CHECK(overlap->mark_count > 0);
    overlap->marks[overlap->mark_count - 1].completed_count = timeline_completed_count(judge->timeline);
}

const char *overlap_message(struct host *host, const struct call *call)
{
    const char *text = call->skipped || call->result == TARGET_OK ? NULL : host->target->message(host->instance);
    return text == NULL ? "" : text;
}

void overlap_end(struct overlap *overlap, const struct judge *judge, const struct overlap_answer *answer)
{
    struct overlap_call *over = &overlap->calls[answer->number];
    CHECK(!over->is_over);
    over->call = *answer->call;
    over->is_over = true;
    over->message = strdup(answer->message);
    CHECK(over->message != NULL);
    overlap->under_way_count--;
    add_mark(overlap, judge, answer->number, true);
}

/* --- one pass over it ----------------------------------------------------------------------------------- */

/* A call as the pass knows it. */
struct pending {
    bool is_under_way, is_done; /* done: its effect is in the model */
    size_t return_index;        /* of the mark at which it returns */
    bool is_excused;            /* an out-of-memory: nothing fitted at some instant */
    bool is_unknown;            /* at some instant the search ended without an answer */
    bool was_blind;             /* at some instant it could not be told where a block was */
    bool has_oom;               /* oom is the state of the instant that decided */
    struct oom oom;
    uint64_t nodes;
    struct verdict verdict;     /* on that state; large, so only has_oom makes it mean something */
};
struct pass {
    struct judge *judge;
    struct overlap *overlap;
    struct pending *pending; /* by call */
    struct overlap_moves moves;
    uint32_t device_call_counts[OP_HOST_COUNT_MAX]; /* taken in */
    uint64_t in_use_before[OP_HOST_COUNT_MAX], taken_bytes[OP_HOST_COUNT_MAX];
    uint64_t peak_low_before[OP_HOST_COUNT_MAX];
    uint32_t current; /* the call that is blamed */
};

static struct overlap_call *call_at(const struct pass *pass, size_t i)
{
    return &pass->overlap->calls[i];
}

static bool takes_memory(const struct call *call)
{
    const uint8_t kind = call->op.kind;
    return call->result == TARGET_OK && !call->skipped &&
           (kind == OP_ALLOC || kind == OP_OUTPUT || kind == OP_LOAD || kind == OP_EXECUTE);
}

static bool gives_back(const struct call *call)
{
    const uint8_t kind = call->op.kind;
    return call->result == TARGET_OK && !call->skipped &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD || kind == OP_RELEASE);
}

static uint32_t slot_named(const struct host *host, const struct call *call)
{
    const struct op_kind_info *info = op_kind_info(call->op.kind);
    return info->has_block || info->has_program ? model_slot_of_op(host->model, call->op.ref) : SLOT_NONE;
}

/* Only an execution of a program that was evicted needs a range. */
static bool needs_range(const struct host *host, const struct call *call)
{
    const uint32_t slot = slot_named(host, call);
    return call->op.kind != OP_EXECUTE || (slot != SLOT_NONE && model_block(host->model, slot)->state == BLOCK_GONE);
}

static bool is_range_free(const struct host *host, const struct target_block *block, uint32_t *owner)
{
    struct span span = {0};
    const uint64_t capacity = model_capacity_bytes(host->model);
    if (block->size_bytes == 0 || block->size_bytes > capacity || block->address > capacity - block->size_bytes) {
        *owner = SLOT_NONE;
        return false;
    }
    const bool is_taken =
        span_map_intersects(model_map(host->model), block->address, block->address + block->size_bytes, &span);
    *owner = is_taken ? (uint32_t)span.owner : SLOT_NONE;
    return !is_taken && block->address >= model_reserved_bytes(host->model);
}

/* The effect of the call is in the model from here on; false: that cannot be. */
static bool take_effect(struct pass *pass, uint32_t number)
{
    struct overlap_call *over = call_at(pass, number);
    struct call *call = &over->call;
    struct host *host = over->host;
    pass->pending[number].is_done = true;
    if (call->skipped || call->result != TARGET_OK) {
        return true;
    }
    call->slot = slot_named(host, call);
    if (op_kind_info(call->op.kind)->has_block && call->slot == SLOT_NONE) {
        return judge_broken(pass->judge, RULE_STATUS, "%s returned OK for block %" PRIu32 ", which was gone",
                            op_kind_info(call->op.kind)->name, call->op.ref);
    }
    if (call->op.kind == OP_TOUCH || call->op.kind == OP_REPORT || call->op.kind == OP_DEFRAGMENT) {
        return true; /* it is looked at when no call is under way */
    }
    model_begin_op(host->model, call->number);
    const bool needs = takes_memory(call) && needs_range(host, call);
    if (!judge_take_success(pass->judge, host, call)) {
        return false;
    }
    if (call->op.kind == OP_DONATE) {
        overlap_moves_add_young(&pass->moves, host, call->slot); /* its contents are new */
    }
    if (needs) {
        pass->taken_bytes[host->index] += call->block.size_bytes;
        overlap_moves_add_young(&pass->moves, host, call->op.kind == OP_EXECUTE
                                                        ? call->slot
                                                        : model_slot_of_op(host->model, call->number));
    }
    return true;
}

static bool is_source(const struct pass *pass, const struct host *host, const struct device_call *call,
                      const struct span *span)
{
    uint32_t slot = SLOT_NONE;
    if (call->kind == DEVICE_CALL_STAGE_IN) {
        return overlap_moves_find_staged(&pass->moves, host, call->from, &slot) && slot == span->owner;
    }
    return span->start >= call->from && span->start < call->from + call->bytes;
}

/* Calls under way that give back what lies in the range do so now: the others' answers say that they did.  But not what
 * is itself copied there (source; NULL: nothing is), or may have gone from there to host memory. */
static void give_back_in(struct pass *pass, const struct host *host, uint64_t start, uint64_t end,
                         const struct device_call *source)
{
    struct span span;
    for (uint64_t at = start; at < end && span_map_intersects(model_map(host->model), at, end, &span); at = span.end) {
        const uint32_t op = model_block(host->model, (uint32_t)span.owner)->op;
        if (source != NULL &&
            (is_source(pass, host, source, &span) ||
             overlap_moves_was_staged(&pass->moves, host, (uint32_t)span.owner))) {
            continue;
        }
        for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
            const struct overlap_call *over = call_at(pass, i);
            const struct pending *pending = &pass->pending[i];
            if (pending->is_under_way && !pending->is_done && over->host == host && gives_back(&over->call) &&
                over->call.op.ref == op) {
                (void)take_effect(pass, i);
            }
        }
    }
}

/* --- out-of-memory ------------------------------------------------------------------------------------------ */

/* What an execution reserves at the bottom; the program may not be in the model yet. */
static uint64_t stack_of(const struct pass *pass, const struct overlap_call *over)
{
    const struct op_list *ops = pass->judge->ops;
    const uint32_t load = over->call.op.ref;
    if (over->call.op.kind != OP_EXECUTE || load >= ops->count || ops->ops[load].kind != OP_LOAD) {
        return 0;
    }
    return align_up(ops->ops[load].stack_bytes, over->host->contract.granule_bytes);
}

/* The image of a program that was evicted may be back already. */
static void blur_reload(const struct call *call, uint64_t stack_bytes, struct oom *oom)
{
    const uint64_t start = call->block.address;
    const uint64_t end = start + call->block.size_bytes;
    size_t at = 0;
    while (at < oom->block_count && oom->blocks[at].address + oom->blocks[at].size_bytes <= start) {
        at++;
    }
    if (call->block.size_bytes == 0 || (at < oom->block_count && oom->blocks[at].address < end)) {
        return; /* it was never away, or is not back yet */
    }
    oom->blocks = array_grown(oom->blocks, oom->block_count, &oom->block_capacity, sizeof *oom->blocks);
    memmove(&oom->blocks[at + 1], &oom->blocks[at], (oom->block_count - at) * sizeof *oom->blocks);
    oom->blocks[at] = (struct oom_block){.address = start, .size_bytes = end - start,
                                         .align_bytes = oom->granule_bytes, .stack_bytes = stack_bytes,
                                         .used_until_ns = DELAY_NEVER, .op = call->op.ref, .kind = BLOCK_PROGRAM,
                                         .state = BLOCK_LIVE};
    oom->block_count++;
}

/* Effects that calls under way may have had already, and that leave less room: what they hold or use does not move,
 * what they free may be stuck behind an event that never comes. */
static void blur(const struct pass *pass, uint32_t number, struct oom *oom)
{
    const struct host *host = call_at(pass, number)->host;
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const struct overlap_call *over = call_at(pass, i);
        const struct call *call = &over->call;
        /* A program whose execution is asked for is as good as queued, whatever comes of it. */
        const bool may_be_felt = !call->skipped && (call->result == TARGET_OK || call->op.kind == OP_EXECUTE);
        if (i == number || !pass->pending[i].is_under_way || pass->pending[i].is_done || over->host != host ||
            !may_be_felt) {
            continue;
        }
        if (call->op.kind == OP_EXECUTE && call->result == TARGET_OK) {
            blur_reload(call, stack_of(pass, over), oom);
        }
        for (size_t k = 0; k < oom->block_count; k++) {
            struct oom_block *block = &oom->blocks[k];
            if (block->op != call->op.ref) {
                continue;
            }
            if (call->op.kind == OP_HOLD) {
                block->hold_count++;
            } else if (call->op.kind == OP_USE || call->op.kind == OP_EXECUTE) {
                block->used_until_ns = DELAY_NEVER;
            } else if (call->op.kind == OP_FREE_AFTER && block->state == BLOCK_LIVE) {
                block->state = BLOCK_DYING;
                block->freed_at_ns = DELAY_NEVER;
            }
        }
    }
}

static bool may_be_blurred(const struct pass *pass, uint32_t number)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const uint8_t kind = call_at(pass, i)->call.op.kind;
        if (i != number && pass->pending[i].is_under_way && !pass->pending[i].is_done &&
            (kind == OP_HOLD || kind == OP_USE || kind == OP_EXECUTE || kind == OP_FREE_AFTER)) {
            return true;
        }
    }
    return false;
}

/* Keeps the state that was just judged, and the verdict on it, for the call's return. */
static void keep(struct pass *pass, uint32_t number, const struct verdict *verdict)
{
    struct pending *pending = &pass->pending[number];
    const struct oom kept = pass->judge->oom;
    pass->judge->oom = pending->oom; /* its memory is used again */
    pending->oom = kept;
    pending->verdict = *verdict;
    pending->verdict.free_bytes = model_free_bytes(call_at(pass, number)->host->model);
    pending->has_oom = true;
}

/* Holds the out-of-memory against this instant: the state is kept of the first that nothing fitted in, else of the last
 * that is not known, else of the last. */
static void ask_now(struct pass *pass, uint32_t number)
{
    struct judge *judge = pass->judge;
    struct overlap_call *over = call_at(pass, number);
    struct pending *pending = &pass->pending[number];
    over->call.slot = slot_named(over->host, &over->call);
    const struct oom_request request = judge_request(over->host, &over->call);
    for (int with_blur = 0; with_blur <= may_be_blurred(pass, number) && !pending->is_excused; with_blur++) {
        struct verdict verdict = {.op = over->call.number};
        oom_take(&judge->oom, over->host->model, &request, device_faults_fired(over->host->device));
        if (with_blur != 0) {
            blur(pass, number, &judge->oom);
        }
        oracle_judge(judge->oracle, &judge->oom, judge->nodes_max, &verdict);
        pending->nodes += verdict.nodes;
        pending->is_excused = verdict.kind == VERDICT_JUSTIFIED;
        pending->is_unknown = pending->is_unknown || verdict.kind == VERDICT_UNKNOWN;
        if (verdict.kind != VERDICT_PREMATURE || !pending->is_unknown) {
            keep(pass, number, &verdict);
        }
    }
}

static bool is_oom(const struct overlap_call *over)
{
    return !over->call.skipped && over->call.result == TARGET_NO_MEMORY && judge_is_request(&over->call.op);
}

static bool meets(const struct target_block *block, uint64_t start, uint64_t end)
{
    return block->address < end && start < block->address + block->size_bytes;
}

/* Whether another call that has not had its effect yet, but returns before this one, got the same range, or the stack
 * there: then that was over before this one got it. */
static bool is_rivalled(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, number);
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const struct overlap_call *other = call_at(pass, i);
        if (i == number || pass->pending[i].is_done || other->host != over->host || !takes_memory(&other->call) ||
            pass->pending[i].return_index > pass->pending[number].return_index) {
            continue;
        }
        const uint64_t stack = stack_of(pass, other);
        const struct target_block *theirs = &other->call.block;
        if (meets(&over->call.block, theirs->address, theirs->address + theirs->size_bytes) ||
            meets(&over->call.block, 0, stack)) {
            return true;
        }
    }
    return false;
}

static bool leaves(const struct target_block *block, const struct device_call *made)
{
    return (made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_OUT) && block->address >= made->from &&
           block->address + block->size_bytes <= made->from + made->bytes;
}

/* Whether something is copied to its range before it returns, and it is not the block itself that has gone from there
 * before: then that was before this one got it. */
static bool is_overwritten(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, number);
    const struct overlap_mark *returns = &pass->overlap->marks[pass->pending[number].return_index];
    const struct target_block *block = &over->call.block;
    size_t count = 0;
    bool has_left = false;
    const struct device_call *calls = device_calls(over->host->device, &count);
    const size_t end = returns->device_call_counts[over->host->index];
    for (size_t i = pass->device_call_counts[over->host->index]; i < end; i++) {
        const struct device_call *made = &calls[i];
        const bool writes = made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_IN;
        if (made->result != DEVICE_OK) {
            continue;
        }
        has_left = has_left || leaves(block, made);
        if (writes && meets(block, made->to, made->to + made->bytes)) {
            return !has_left || !overlap_moves_ends_elsewhere(over->host, over->call.number, block->address);
        }
    }
    return false;
}

/* A call that takes memory takes effect as soon as nothing speaks against it; an execution, which takes the stack, too,
 * only when it returns. */
static bool may_take_now(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *over = call_at(pass, number);
    uint32_t owner = SLOT_NONE;
    return pass->pending[number].is_under_way && !pass->pending[number].is_done && takes_memory(&over->call) &&
           over->call.op.kind != OP_EXECUTE && is_range_free(over->host, &over->call.block, &owner) &&
           !is_rivalled(pass, number) && !is_overwritten(pass, number);
}

/* Something changed: whoever can take effect does, and every out-of-memory under way is held against what is now. */
static bool look_again(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (may_take_now(pass, i) && !take_effect(pass, i)) {
            pass->current = i;
            return false;
        }
    }
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (!pass->pending[i].is_under_way || pass->pending[i].is_excused || !is_oom(call_at(pass, i))) {
            continue;
        }
        if (model_absent_count(call_at(pass, i)->host->model) > 0) {
            pass->pending[i].was_blind = true;
        } else {
            ask_now(pass, i);
        }
    }
    return true;
}

/* --- the log -------------------------------------------------------------------------------------------------- */

static bool complete_until(struct pass *pass, uint64_t completed_count)
{
    struct judge *judge = pass->judge;
    while (judge->absorbed_count < completed_count) {
        const uint64_t event = timeline_completed_at(judge->timeline, judge->absorbed_count++);
        for (uint32_t i = 0; i < judge->host_count; i++) {
            model_complete(judge->hosts[i].model, event);
            judge_clear_gone(&judge->hosts[i]);
        }
        if (!look_again(pass)) {
            return false;
        }
    }
    return true;
}

static bool may_evict(const struct pass *pass, const struct host *host)
{
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        const uint8_t kind = call_at(pass, i)->call.op.kind;
        const bool may = kind == OP_ALLOC || kind == OP_OUTPUT ? host->contract.evicts
                         : kind == OP_LOAD || kind == OP_EXECUTE ? host->contract.program_evicts_program
                                                                 : false;
        if (pass->pending[i].is_under_way && call_at(pass, i)->host == host && may) {
            return true;
        }
    }
    return false;
}

static bool evict(struct pass *pass, struct host *host, const struct device_call *unload)
{
    const uint64_t op = unload->from - 1;
    const uint32_t slot = op < OP_NONE ? model_slot_of_op(host->model, (uint32_t)op) : SLOT_NONE;
    const struct block *program = slot == SLOT_NONE ? NULL : model_block(host->model, slot);
    if (program == NULL || program->kind != BLOCK_PROGRAM || program->state != BLOCK_LIVE || !may_evict(pass, host)) {
        return judge_broken(pass->judge, RULE_WRONG_EVICTION, "evicted program %" PRIu64
                            ", which is not loaded, or for no call that may", op);
    }
    if (program->use_count > 0) {
        return judge_broken(pass->judge, RULE_BUSY_EVICTED, "evicted program %" PRIu64 " with %" PRIu32
                            " unfinished executions", op, program->use_count);
    }
    model_evict(host->model, slot);
    judge_clear_gone(host);
    return true;
}

static bool take_device_call(struct pass *pass, struct host *host, const struct device_call *made)
{
    if (!complete_until(pass, made->completed_before)) {
        return false;
    }
    pass->device_call_counts[host->index]++; /* what completed before it was before what it writes */
    if (made->result != DEVICE_OK) {
        overlap_moves_take_refused(&pass->moves, host, made);
        return true;
    }
    if (made->kind == DEVICE_CALL_UNLOAD) {
        return evict(pass, host, made) && look_again(pass);
    }
    if (made->kind == DEVICE_CALL_COPY || made->kind == DEVICE_CALL_STAGE_OUT || made->kind == DEVICE_CALL_STAGE_IN) {
        if (made->kind != DEVICE_CALL_STAGE_OUT) {
            give_back_in(pass, host, made->to, made->to + made->bytes, made);
        }
        return overlap_moves_take(&pass->moves, pass->judge, host, made) && look_again(pass);
    }
    return true;
}

static bool take_log(struct pass *pass, const struct overlap_mark *mark)
{
    for (uint32_t i = 0; i < pass->judge->host_count; i++) {
        struct host *host = &pass->judge->hosts[i];
        size_t count = 0;
        const struct device_call *calls = device_calls(host->device, &count);
        while (pass->device_call_counts[i] < mark->device_call_counts[i]) {
            if (!take_device_call(pass, host, &calls[pass->device_call_counts[i]])) {
                return false;
            }
        }
    }
    return complete_until(pass, mark->completed_count);
}

/* --- returns ---------------------------------------------------------------------------------------------------- */

/* At its return at the latest the call has had its effect. */
static bool finish_effect(struct pass *pass, uint32_t number)
{
    struct overlap_call *over = call_at(pass, number);
    struct host *host = over->host;
    uint32_t owner = SLOT_NONE;
    if (pass->pending[number].is_done) {
        return true;
    }
    if (takes_memory(&over->call) && needs_range(host, &over->call) &&
        !is_range_free(host, &over->call.block, &owner)) {
        const struct target_block *block = &over->call.block;
        give_back_in(pass, host, block->address, block->address + block->size_bytes, NULL);
        overlap_moves_strand_staged(&pass->moves, host, block->address, block->address + block->size_bytes);
    }
    if (takes_memory(&over->call) && over->call.op.kind == OP_EXECUTE) {
        const uint32_t slot = slot_named(host, &over->call);
        const uint64_t stack = slot == SLOT_NONE ? 0 : model_block(host->model, slot)->stack_bytes;
        give_back_in(pass, host, 0, stack, NULL);
    }
    return take_effect(pass, number);
}

/* Which other call was under way: of several the one that began last. */
static const struct overlap_call *other_call(const struct pass *pass, uint32_t number)
{
    const struct overlap_call *other = NULL;
    for (uint32_t i = 0; i < pass->overlap->call_count; i++) {
        if (i != number && pass->pending[i].is_under_way) {
            other = call_at(pass, i);
        }
    }
    return other;
}

/* The state that decided is the judge's again, for who asks for a certificate. */
static void take_kept(struct pass *pass, uint32_t number)
{
    struct pending *pending = &pass->pending[number];
    struct judge *judge = pass->judge;
    const struct oom spare = judge->oom;
    judge->oom = pending->oom;
    pending->oom = spare;
    judge->verdict->kind = pending->verdict.kind;
    judge->verdict->free_bytes = pending->verdict.free_bytes;
    judge->verdict->nodes = pending->nodes;
    memcpy(judge->verdict->reason, pending->verdict.reason, sizeof judge->verdict->reason);
}

static bool finish_oom(struct pass *pass, uint32_t number)
{
    struct judge *judge = pass->judge;
    struct verdict *verdict = judge->verdict;
    struct overlap_call *over = call_at(pass, number);
    const struct oom_request request = judge_request(over->host, &over->call);
    if (__builtin_add_overflow(request.size_bytes, request.stack_bytes, &verdict->requested_bytes)) {
        verdict->requested_bytes = UINT64_MAX;
    }
    if (over->message[0] == '\0') {
        return judge_broken(judge, RULE_MESSAGE, "an out-of-memory without an error text");
    }
    const struct pending *pending = &pass->pending[number];
    if (!pending->has_oom || (pending->was_blind && !pending->is_excused)) {
        return true; /* not judged: that instant may have been the one */
    }
    take_kept(pass, number);
    if (verdict->kind != VERDICT_PREMATURE) {
        return true;
    }
    (void)oracle_prove(judge->oracle, &judge->oom, judge->nodes_max, verdict);
    return false;
}

static void name_other(struct pass *pass, uint32_t number)
{
    char *reason = pass->judge->verdict->reason;
    const struct overlap_call *other = other_call(pass, number);
    const size_t used = strlen(reason);
    const size_t room = sizeof pass->judge->verdict->reason;
    if (other != NULL && used + 1 < room) {
        snprintf(reason + used, room - used, "; lane %u was in op %" PRIu32 " (%s) meanwhile", other->lane,
                 other->call.number, op_kind_info(other->call.op.kind)->name);
    }
}

/* The rest of the reason means nothing, and it is large. */
static void clear_verdict(struct verdict *verdict, uint32_t op)
{
    memset(verdict, 0, offsetof(struct verdict, reason) + 1);
    verdict->kind = VERDICT_NONE;
    verdict->rule = RULE_NONE;
    verdict->op = op;
}

static void begin_verdict(struct judge *judge, const struct overlap_call *over)
{
    clear_verdict(judge->verdict, over->call.number);
    judge->message = over->message == NULL ? "" : over->message;
}

/* False: a promise is broken. */
static bool finish_call(struct pass *pass, uint32_t number)
{
    struct overlap_call *over = call_at(pass, number);
    pass->current = number;
    over->call.slot = slot_named(over->host, &over->call);
    begin_verdict(pass->judge, over);
    const bool is_good = over->call.skipped || (judge_status(pass->judge, over->host, &over->call) &&
                                                finish_effect(pass, number) &&
                                                (!is_oom(over) || finish_oom(pass, number)));
    if (!is_good) {
        name_other(pass, number);
    }
    pass->pending[number].is_under_way = false;
    return is_good;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* No call is under way: everything is looked at. */
static bool look_at_host(struct pass *pass, struct host *host)
{
    struct judge *judge = pass->judge;
    const struct call looking = {.op = op_make(OP_REPORT), .slot = SLOT_NONE};
    const bool moved = pass->moves.has_moved;
    if (device_hung(host->device)) {
        return judge_broken(judge, RULE_HANG, "the calls went on polling, or making device calls");
    }
    if (device_left_range(host->device)) {
        return judge_broken(judge, RULE_OUTSIDE, "a copy left the device");
    }
    overlap_moves_stamp_staged(&pass->moves, host);
    overlap_moves_strand_refused(&pass->moves, host);
    if (!judge_host_memory(judge, host) || !judge_places(judge, host, &looking, moved)) {
        return false;
    }
    overlap_moves_stamp(&pass->moves, host);
    if (!judge_contents(judge, host)) {
        return false;
    }
    struct target_stats stats = {0};
    host->target->stats(host->instance, &stats);
    const uint64_t high = pass->in_use_before[host->index] + pass->taken_bytes[host->index];
    const struct model_counters *counters = model_counters(host->model);
    model_widen_peak(host->model, pass->peak_low_before[host->index],
                     high > counters->peak_high_bytes ? high : counters->peak_high_bytes);
    if (!judge_counters(judge, host, &stats, true)) {
        return false;
    }
    model_widen_peak(host->model, stats.peak_bytes_in_use, stats.peak_bytes_in_use);
    return true;
}

static bool look_at_hosts(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->judge->host_count; i++) {
        if (!look_at_host(pass, &pass->judge->hosts[i])) {
            return false;
        }
    }
    return true;
}

static bool run_pass(struct pass *pass, const struct overlap_teller *teller)
{
    struct overlap *overlap = pass->overlap;
    for (size_t i = 0; i < overlap->mark_count; i++) {
        const struct overlap_mark *mark = &overlap->marks[i];
        pass->current = mark->call;
        bool is_good = take_log(pass, mark);
        if (is_good && !mark->is_return) {
            pass->pending[mark->call].is_under_way = true;
            is_good = look_again(pass);
        } else if (is_good) {
            const bool is_last = i + 1 == overlap->mark_count;
            is_good = finish_call(pass, mark->call) && look_again(pass) && (!is_last || look_at_hosts(pass));
        }
        if (!is_good || mark->is_return) {
            pass->judge->verdict->op = call_at(pass, pass->current)->call.number;
            const bool goes_on = teller->judged(teller->context, call_at(pass, pass->current));
            if (!is_good || !goes_on) {
                return false;
            }
        }
    }
    return true;
}

static void begin_pass(struct pass *pass)
{
    for (size_t i = 0; i < pass->overlap->call_count; i++) {
        memset(&pass->pending[i], 0, offsetof(struct pending, verdict));
    }
    for (size_t i = 0; i < pass->overlap->mark_count; i++) {
        pass->pending[pass->overlap->marks[i].call].return_index = i; /* the later mark of each call is its return */
    }
    for (uint32_t i = 0; i < pass->judge->host_count; i++) {
        const struct host *host = &pass->judge->hosts[i];
        pass->in_use_before[i] = model_in_use_bytes(host->model);
        pass->peak_low_before[i] = model_counters(host->model)->peak_low_bytes;
    }
}

bool judge_overlap(struct judge *judge, struct overlap *overlap, const struct overlap_teller *teller)
{
    struct pass pass = {.judge = judge, .overlap = overlap};
    CHECK(overlap->under_way_count == 0);
    CHECK(overlap->call_count > 0);
    pass.pending = malloc(overlap->call_count * sizeof *pass.pending);
    CHECK(pass.pending != NULL);
    judge->is_overlapping = true;
    judge->is_spending = judge->has_second_opinion = false;
    judge->regret = (struct regret){0};
    begin_pass(&pass);
    clear_verdict(judge->verdict, overlap->calls[0].call.number);
    const char *message = judge->message;
    const bool is_good = run_pass(&pass, teller);
    judge->message = message;
    judge->is_overlapping = false;
    for (size_t i = 0; i < overlap->call_count; i++) {
        oom_deinit(&pass.pending[i].oom);
    }
    free(pass.pending);
    overlap_moves_deinit(&pass.moves);
    return is_good;
}
