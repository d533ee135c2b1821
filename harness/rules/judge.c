#include "harness/rules/judge.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/rules/judge_oom.h"
#include "harness/rules/private/judge_host.h"
#include "harness/rules/private/judge_moved.h"
#include "harness/rules/private/judge_reported.h"
#include "harness/rules/private/judge_spmd.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_BYTES_MAX ((uint64_t)1 << 63)

void judge_init(struct judge *judge)
{
    judge->oracle = oracle_create();
    judge->planner = planner_create();
}

void judge_deinit(struct judge *judge)
{
    oracle_destroy(judge->oracle);
    oom_deinit(&judge->oom);
    oom_deinit(&judge->reservable);
    oom_deinit(&judge->before);
    reach_deinit(&judge->reach);
    planner_destroy(judge->planner);
    free(judge->groups);
    free(judge->places.addresses);
    free(judge->places.stranded);
    judge->oracle = NULL;
    judge->groups = NULL;
}

void judge_reset(struct judge *judge)
{
    *judge = (struct judge){.oracle = judge->oracle,
                            .planner = judge->planner,
                            .oom = judge->oom,
                            .reservable = judge->reservable,
                            .before = judge->before,
                            .reach = judge->reach,
                            .groups = judge->groups,
                            .places = judge->places,
                            .run = judge->run + 1};
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

/* --- answers --- */

static bool check_new_block(struct judge *judge, const struct host *host, const struct call *call,
                            uint64_t requested, uint64_t align)
{
    const struct target_block *block = &call->block;
    const uint64_t capacity = model_capacity_bytes(host->model);
    if (block->handle == 0) {
        return judge_broken(judge, RULE_HANDLE, "the handle is 0");
    }
    if (block->size_bytes < requested) {
        return judge_broken(judge, RULE_TOO_SMALL, "%" PRIu64 " bytes for a request of %" PRIu64,
                            block->size_bytes, requested);
    }
    if (block->size_bytes > capacity || block->address > capacity - block->size_bytes) {
        return judge_broken(judge, RULE_OUTSIDE,
                            "[0x%" PRIx64 ", +%" PRIu64 ") is not in the device", block->address,
                            block->size_bytes);
    }
    if (block->address % align != 0 || block->size_bytes % host->contract.granule_bytes != 0) {
        return judge_broken(judge, RULE_MISALIGNED,
                            "0x%" PRIx64 " (%" PRIu64 " bytes) is not aligned to %" PRIu64,
                            block->address, block->size_bytes, align);
    }
    if (block->address < model_reserved_bytes(host->model)) {
        return judge_broken(judge, RULE_OVERLAP,
                            "0x%" PRIx64 " lies in the stack, which ends at 0x%" PRIx64,
                            block->address, model_reserved_bytes(host->model));
    }
    return true;
}

static bool lies_on(struct judge *judge, const struct host *host, const struct target_block *block,
                    uint32_t slot)
{
    const struct block *other = model_block(host->model, slot);
    const bool is_dying = other->state == BLOCK_DYING;
    return judge_broken(judge, is_dying ? RULE_REUSED_EARLY : RULE_OVERLAP,
                        "[0x%" PRIx64 ", +%" PRIu64 ") lies on %s block %" PRIu32 " at 0x%" PRIx64,
                        block->address, block->size_bytes, is_dying ? "dying" : "live", other->op,
                        other->address);
}

/* A new block's contents are written where it is when no call is under way: until then it may be
 * moved. */
static void stamp_new(const struct judge *judge, const struct host *host, uint32_t slot)
{
    if (!judge->is_overlapping) {
        judge_stamp(host, slot);
    }
}

static bool take_block(struct judge *judge, struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    const uint64_t align = judge_align_bytes(host, op);
    if (!check_new_block(judge, host, call, op->size_bytes, align)) {
        return false;
    }
    const enum block_kind kind = op->kind == OP_LOAD     ? BLOCK_PROGRAM
                                 : op->kind == OP_OUTPUT ? BLOCK_OUTPUT
                                                         : BLOCK_BUFFER;
    const uint64_t granule = host->contract.granule_bytes;
    const struct model_new what = {
        .requested_bytes = op->size_bytes,
        .align_bytes = align,
        .stack_bytes = op->kind == OP_LOAD ? align_up(op->stack_bytes, granule) : 0,
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
    uint64_t reservable = 0;
    if (what.stack_bytes > 0 && !judge->is_overlapping) {
        oom_take(&judge->reservable, host->model, &(struct oom_request){.own_op = OP_NONE}, 0);
        reservable = oom_reservable(&judge->reservable).high_bytes;
    }
    if (what.stack_bytes > reservable && !judge->is_overlapping) {
        return judge_broken(judge, RULE_STATUS,
                            "load returned OK, but of its stack of %" PRIu64
                            " bytes no more than %" PRIu64 " can be reserved",
                            what.stack_bytes, reservable);
    }
    model_reserve_briefly(host->model, what.stack_bytes);
    stamp_new(judge, host, slot);
    return true;
}

static bool take_donation(struct judge *judge, struct host *host, const struct call *call)
{
    const struct block *block = model_block(host->model, call->slot);
    if (call->block.handle == 0) {
        return judge_broken(judge, RULE_HANDLE, "the handle is 0");
    }
    if ((call->block.address != block->address && !judge->is_overlapping) ||
        call->block.size_bytes != block->size_bytes) {
        return judge_broken(judge, RULE_MOVED_UNASKED,
                            "a donation took 0x%" PRIx64 " instead of its input's 0x%" PRIx64,
                            call->block.address, block->address);
    }
    /* The new buffer asked for no alignment of its own. */
    const struct model_new what = {.requested_bytes = call->op.size_bytes,
                                   .align_bytes = host->contract.granule_bytes,
                                   .kind = BLOCK_OUTPUT,
                                   .tag = call->op.tag};
    device_scrub(host->device,
                 call->slot); /* a stage of it that was left holds the input, not the output */
    stamp_new(judge, host, model_donate(host->model, call->slot, &what, &call->block));
    return true;
}

static bool check_contents(struct judge *judge, const struct host *host, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    return judge_has_contents(host, slot) ||
           judge_broken(judge, RULE_CONTENTS,
                        "block %" PRIu32 " at 0x%" PRIx64 " lost its contents", block->op,
                        block->address);
}

/* The range is a block from now on; the driver has seen that it was free. */
static bool take_retirement(struct judge *judge, struct host *host, const struct call *call)
{
    const struct model_new what = {.requested_bytes = call->op.size_bytes,
                                   .align_bytes = host->contract.granule_bytes,
                                   .kind = BLOCK_RETIRED};
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    if (!model_add(host->model, &what, &call->block, &slot, &other)) {
        return lies_on(judge, host, &call->block, other);
    }
    judge_stamp(host, slot);
    judge->hosts_differ = true;
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
        stamp_new(judge, host, call->slot);
    } else if (judge->is_overlapping) {
        /* Others may have moved it since. */
    } else if (call->block.address != program->address) {
        return judge_broken(judge, RULE_MOVED_UNASKED,
                            "the image of program %" PRIu32 " is said to be at 0x%" PRIx64
                            " but was at 0x%" PRIx64,
                            program->op, call->block.address, program->address);
    } else if (!check_contents(judge, host, call->slot)) {
        return false;
    }
    /* An execution of no duration is over already; its reservation was made all the same. */
    model_reserve_briefly(host->model, program->stack_bytes);
    model_use(host->model, call->slot, call->event);
    struct span span;
    const uint64_t stack = model_reserved_bytes(host->model);
    if (stack > model_capacity_bytes(host->model) ||
        span_map_intersects(model_map(host->model), 0, stack, &span)) {
        return judge_broken(judge, RULE_OVERLAP, "the stack [0, 0x%" PRIx64 ") lies on a block",
                            stack);
    }
    return true;
}

/* What is in host memory alone cannot be used. */
static bool check_present(struct judge *judge, const struct host *host, const struct call *call)
{
    const uint8_t kind = call->op.kind;
    const bool needs_block = kind == OP_USE || kind == OP_DONATE || kind == OP_EXECUTE;
    return !needs_block || judge->is_overlapping ||
           !model_block(host->model, call->slot)->is_absent ||
           judge_broken(judge, RULE_STATUS,
                        "%s returned OK, but the contents of block %" PRIu32 " are in host memory",
                        op_kind_info(kind)->name, model_block(host->model, call->slot)->op);
}

bool judge_take_success(struct judge *judge, struct host *host, const struct call *call)
{
    if (!check_present(judge, host, call)) {
        return false;
    }
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
        /* A deferred free whose event is done already is not in the way of anything: the target is
         * told. */
        if (call->is_deferred) {
            judge_free_deferred(host);
        }
        judge_clear_gone(host);
        return true;
    case OP_USE:
        model_use(host->model, call->slot, call->event);
        return true;
    case OP_HOLD:
        model_hold(host->model, call->slot);
        return true;
    case OP_RELEASE:
        model_release(host->model, call->slot);
        judge_free_deferred(host);
        return true;
    case OP_EXECUTE:
        return take_execution(judge, host, call);
    case OP_TOUCH:
        return judge_touched(judge, host, call);
    case OP_RETIRE:
        return take_retirement(judge, host, call);
    default:
        return true;
    }
}

/* What size_bytes makes of a request that can never be right. */
static bool is_invalid_request(const struct op *op)
{
    return (op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD) &&
           (op->size_bytes == 0 || op->size_bytes > REQUEST_BYTES_MAX ||
            (op->kind == OP_LOAD && op->stack_bytes > REQUEST_BYTES_MAX));
}

/* The op names a block whose contents are in host memory, and still are. */
static bool lacks_its_block(const struct host *host, const struct call *call)
{
    const uint8_t kind = call->op.kind;
    const struct block *block = call->slot == SLOT_NONE ? NULL
                                                        : model_block(host->model, call->slot);
    return (kind == OP_USE || kind == OP_DONATE || kind == OP_EXECUTE) && block != NULL &&
           block->is_absent && device_has_staged(host->device, call->slot, block->requested_bytes);
}

bool judge_status(struct judge *judge, const struct host *host, const struct call *call)
{
    static const char *const names[] = {"OK", "NO_MEMORY", "INVALID", "FAILED"};
    const struct op *op = &call->op;
    if ((unsigned)call->result >= sizeof names / sizeof names[0]) {
        return judge_broken(judge, RULE_STATUS, "the result is %u, which is none",
                            (unsigned)call->result);
    }
    /* To take note of memory that went bad needs nothing of the device. */
    const uint32_t excuses = op->kind == OP_RETIRE ? 1u << FAULT_HOST_MEMORY : UINT32_MAX;
    if (call->result == TARGET_FAILED &&
        ((device_faults_fired(host->device) & excuses) != 0 || lacks_its_block(host, call))) {
        return judge_failure_message(judge, host);
    }
    if (is_invalid_request(op) != (call->result == TARGET_INVALID) ||
        call->result == TARGET_FAILED ||
        (call->result == TARGET_NO_MEMORY && !judge_is_request(op))) {
        return judge_broken(judge, RULE_STATUS, "%s returned %s", op_kind_info(op->kind)->name,
                            names[call->result]);
    }
    return true;
}

/* --- one op --- */

/* What ends with the op is ended first: nobody may be asked about it any more, and others may have
 * taken its place. */
static bool ends_a_block(const struct call *call)
{
    const uint8_t kind = call->op.kind;
    return call->result == TARGET_OK &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD || kind == OP_RELEASE);
}

static bool judge_answer(struct judge *judge, struct host *host, const struct call *call)
{
    bool moved = false;
    if (!judge_device_calls(judge, host, call, &moved) || !judge_host_memory(judge, host) ||
        !judge_status(judge, host, call)) {
        return false;
    }
    const bool failed = call->result != TARGET_OK;
    const bool ends = ends_a_block(call);
    if (ends && !judge_take_success(judge, host, call)) {
        return false;
    }
    if ((moved || failed || call->op.kind == OP_REPORT) &&
        !judge_places(judge, host, call, moved)) {
        return false;
    }
    if ((moved || call->op.kind == OP_REPORT) && !judge_contents(judge, host)) {
        return false;
    }
    if (!failed && !ends && !judge_take_success(judge, host, call)) {
        return false;
    }
    return (call->result != TARGET_NO_MEMORY || judge_no_memory(judge, host, call)) &&
           judge_spmd(judge, host, call);
}

static bool had_fault(const struct host *host)
{
    return device_faults_fired(host->device) != 0 || device_faults_struck(host->device) != 0;
}

/* What the target is asked after the op may hang as well. */
static void check_polls(struct judge *judge, const struct host *host)
{
    if (device_hung(host->device)) {
        judge_broken(judge, RULE_HANG,
                     "it went on making device calls or polling outside of an op");
    }
}

void judge_call(struct judge *judge, struct host *host, const struct call *call)
{
    judge->spent = (struct regret_spent){0};
    judge->regret = (struct regret){0};
    judge->is_spending = judge->has_second_opinion = false;
    judge->hosts_differ = judge->hosts_differ || had_fault(host);
    if (!judge_answer(judge, host, call)) {
        return;
    }
    judge_look_back(judge, host, call);
    judge_absorb_all(judge);
    const bool in_full = call->op.kind == OP_REPORT || call->result == TARGET_NO_MEMORY;
    struct target_stats stats = {0};
    host->target->stats(host->instance, &stats);
    if (judge_counters(judge, host, &stats, in_full) && call->op.kind == OP_REPORT &&
        judge_report(judge, host)) {
        judge_handles(judge, host);
    }
    check_polls(judge, host);
}

void judge_empty_heap(struct judge *judge, struct host *host)
{
    struct target_stats stats = {0};
    host->target->stats(host->instance, &stats);
    CHECK(model_in_use_bytes(host->model) == model_retired_bytes(host->model));
    judge_counters(judge, host, &stats, true);
}

void judge_closed(struct judge *judge, struct host *host)
{
    check_polls(judge, host);
    judge_host_closed(judge, host);
}
