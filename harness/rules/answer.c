#include "harness/base/align.h"
#include "harness/call/stamps.h"
#include "harness/device/span_map.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>
#include <stdio.h>

/* Returns the evidence of the call's answer. */
static struct rule_evidence seen_answer(struct judge *judge, const struct host *host,
                                        const struct call *call, enum evidence_sight sight)
{
    struct rule_evidence answer = evidence_on(judge, host, call, sight, call->slot);
    answer.address = call->block.address;
    answer.size_bytes = call->block.size_bytes;
    return answer;
}

/* Returns the same for a request of asked_bytes at a multiple of align_bytes. */
static struct rule_evidence seen_block(struct judge *judge, const struct host *host,
                                       const struct call *call, uint64_t asked_bytes,
                                       uint64_t align_bytes)
{
    struct rule_evidence answer = seen_answer(judge, host, call, SIGHT_ANSWER);
    answer.asked_bytes = asked_bytes;
    answer.align_bytes = align_bytes;
    return answer;
}

static bool check_new_block(const struct rule_evidence *answer)
{
    return rule_judge(RULE_HANDLE, answer) && rule_judge(RULE_TOO_SMALL, answer) &&
           rule_judge(RULE_OUTSIDE, answer) && rule_judge(RULE_MISALIGNED, answer) &&
           rule_judge(RULE_OVERLAP, answer) && rule_judge(RULE_REGION, answer);
}

/* The model has no room for the answer: the block in the slot is there.  Returns false. */
static bool check_clash(struct rule_evidence answer, uint32_t slot)
{
    answer.sight = SIGHT_CLASH;
    answer.other = slot;
    return rule_judge(RULE_REUSED_EARLY, &answer) && rule_judge(RULE_OVERLAP, &answer);
}

/* The new block lies on no memory that is kept for another stream or a recording. */
static bool check_kept(struct rule_evidence answer)
{
    if (answer.host->contract.placement != PLACEMENT_RANGES) {
        answer.sight = SIGHT_STREAM;
        answer.other = SLOT_NONE;
        return rule_judge(RULE_REUSED_EARLY, &answer);
    }
    const struct model *model = answer.host->model;
    const uint64_t end = answer.address + answer.size_bytes;
    for (size_t i = 0; i < model_kept_count(model); i++) {
        const struct block *kept = model_kept(model, i);
        const enum kept_for why = model_kept_for(model, kept, op_stream(&answer.call->op));
        if (why == KEPT_FOR_NONE || kept->address >= end ||
            answer.address >= kept->address + kept->size_bytes) {
            continue;
        }
        answer.other = model_kept_slot(model, i);
        answer.sight = why == KEPT_FOR_STREAM ? SIGHT_STREAM : SIGHT_RECORDING;
        if (!rule_judge(why == KEPT_FOR_STREAM ? RULE_REUSED_EARLY : RULE_RECORDED, &answer)) {
            return false;
        }
    }
    return true;
}

/* A new block's contents are written where it is when no call is under way: until then it may be
 * moved.  A block without an address that cannot be written does not read as it should. */
static void stamp_new(const struct judge *judge, const struct host *host, uint32_t slot)
{
    if (!judge->is_overlapping) {
        judge_stamp(host, slot);
        (void)stamps_write(host, slot);
    }
}

/* True if all blocks lie above that many bytes.  Nothing has to move for them then: every bound
 * that the oracle finds is at least the address of the lowest block. */
static bool lies_below_all(const struct host *host, uint64_t bytes)
{
    struct span_cursor cursor;
    struct span lowest;
    const struct target_contract *contract = &host->contract;
    if (contract->placement != PLACEMENT_RANGES || contract->header_bytes > 0 ||
        contract->regions.grows || model_kept_count(host->model) > 0 ||
        !span_map_first(model_map(host->model), &cursor)) {
        return false;
    }
    span_map_get(model_map(host->model), &cursor, &lowest);
    return bytes <= lowest.start;
}

/* The stack of the program can be reserved while its image is where it is.  While calls overlap,
 * where the others are is not known at one instant: only what no state allows is wrong then. */
static bool check_loaded_stack(struct rule_evidence answer, uint64_t stack_bytes)
{
    struct judge *judge = answer.judge;
    struct verdict proof = {.kind = VERDICT_NONE};
    if (stack_bytes == 0 || (!judge->is_overlapping && lies_below_all(answer.host, stack_bytes))) {
        return true;
    }
    answer.reservable_bytes = model_capacity_bytes(answer.host->model) - answer.size_bytes;
    answer.size_bytes = stack_bytes;
    answer.sight = SIGHT_STACK;
    if (!judge->is_overlapping) {
        judge_loaded_stack(judge, answer.host, answer.call, stack_bytes, &proof);
        answer.reservable_bytes = oom_reservable(&judge->oom).high_bytes;
        answer.proof = &proof;
    }
    return proof.kind != VERDICT_DISPUTED && rule_judge(RULE_STATUS, &answer);
}

static bool take_block(struct judge *judge, struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    const uint64_t align = judge_align_bytes(host, op);
    const struct rule_evidence answer = seen_block(judge, host, call, op->size_bytes, align);
    if (!check_new_block(&answer)) {
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
        .stream = (uint8_t)op_stream(op),
    };
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    if (!model_add(host->model, &what, &call->block, &slot, &other)) {
        return check_clash(answer, other);
    }
    if (!check_kept(answer) || !check_loaded_stack(answer, what.stack_bytes)) {
        return false;
    }
    model_reserve_briefly(host->model, what.stack_bytes);
    stamp_new(judge, host, slot);
    return rule_judge(RULE_TOO_LARGE, &answer);
}

static bool take_donation(struct judge *judge, struct host *host, const struct call *call)
{
    const struct rule_evidence donation = seen_answer(judge, host, call, SIGHT_DONATION);
    if (!rule_judge(RULE_HANDLE, &donation) || !rule_judge(RULE_MOVED_UNASKED, &donation)) {
        return false;
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

/* The range is a block from now on; the driver has seen that it was free. */
static bool take_retirement(struct judge *judge, struct host *host, const struct call *call)
{
    const struct model_new what = {.requested_bytes = call->op.size_bytes,
                                   .align_bytes = host->contract.granule_bytes,
                                   .kind = BLOCK_RETIRED};
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    if (!model_add(host->model, &what, &call->block, &slot, &other)) {
        return check_clash(seen_answer(judge, host, call, SIGHT_CLASH), other);
    }
    judge_stamp(host, slot);
    judge->hosts_differ = true;
    return true;
}

/* The image of the program that is executed: new where it was evicted, else where it was.  Where
 * calls overlap, others may have moved it since. */
static bool take_image(struct judge *judge, struct host *host, const struct call *call)
{
    const struct block *program = model_block(host->model, call->slot);
    if (program->state != BLOCK_GONE) {
        const struct rule_evidence image = seen_answer(judge, host, call, SIGHT_IMAGE);
        return judge->is_overlapping ||
               (rule_judge(RULE_MOVED_UNASKED, &image) && rule_judge(RULE_CONTENTS, &image));
    }
    const struct rule_evidence answer = seen_block(judge, host, call, program->requested_bytes,
                                                   program->align_bytes);
    uint32_t other = SLOT_NONE;
    if (!check_new_block(&answer)) {
        return false;
    }
    if (!model_reload(host->model, call->slot, &call->block, &other)) {
        return check_clash(answer, other);
    }
    stamp_new(judge, host, call->slot);
    return rule_judge(RULE_TOO_LARGE, &answer);
}

/* The program runs: its image is there, its stack is reserved. */
static bool take_execution(struct judge *judge, struct host *host, const struct call *call)
{
    const uint64_t stack_bytes = model_block(host->model, call->slot)->stack_bytes;
    /* An execution of no duration is over already; its reservation was made all the same, and
     * nothing lay there: unless another call got the place since. */
    struct rule_evidence stack = evidence_on(judge, host, call, SIGHT_STACK, call->slot);
    stack.size_bytes = judge->is_overlapping ? 0 : stack_bytes;
    if (!take_image(judge, host, call)) {
        return false;
    }
    model_reserve_briefly(host->model, stack_bytes);
    model_use(host->model, call->slot, call->event);
    return rule_judge(RULE_OVERLAP, &stack);
}

void judge_take_end(struct host *host, const struct call *call)
{
    if (call->op.kind == OP_RELEASE) {
        model_release(host->model, call->slot);
        judge_free_deferred(host);
        return;
    }
    model_free(host->model, call->slot, call->event);
    /* A deferred free whose event is done already is not in the way of anything: the target is
     * told. */
    if (call->is_deferred) {
        judge_free_deferred(host);
    }
    judge_clear_gone(host);
}

bool judge_take_success(struct judge *judge, struct host *host, const struct call *call)
{
    const struct rule_evidence needed = evidence_on(judge, host, call, SIGHT_ABSENT, call->slot);
    if (!judge->is_overlapping && !rule_judge(RULE_STATUS, &needed)) {
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
    case OP_RELEASE:
        judge_take_end(host, call);
        return true;
    case OP_USE:
        model_use(host->model, call->slot, call->event);
        return true;
    case OP_HOLD:
        model_hold(host->model, call->slot);
        return true;
    case OP_EXECUTE:
        return take_execution(judge, host, call);
    case OP_TOUCH:
        return judge_touched(judge, host, call);
    case OP_RETIRE:
        return take_retirement(judge, host, call);
    case OP_RECORD:
        model_begin_recording(host->model);
        return true;
    case OP_RECORD_END:
        model_end_recording(host->model);
        return true;
    case OP_RECORD_DROP:
        model_drop_recording(host->model, call->op.ref);
        return true;
    default:
        return true;
    }
}

bool judge_status(struct judge *judge, const struct host *host, const struct call *call)
{
    const struct rule_evidence answer = evidence_on(judge, host, call, SIGHT_ANSWER, call->slot);
    return rule_judge(RULE_STATUS, &answer) &&
           (call->result != TARGET_FAILED || rule_judge(RULE_MESSAGE, &answer));
}

/* These rules ask if a call returned, with the result that it can get, and with a right error text.
 */

#define REQUEST_BYTES_MAX ((uint64_t)1 << 63)

/* --- results --- */

/* True if size_bytes makes it a request that can never be right. */
static bool is_invalid_request(const struct op *op)
{
    return (op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD) &&
           (op->size_bytes == 0 || op->size_bytes > REQUEST_BYTES_MAX ||
            (op->kind == OP_LOAD && op->stack_bytes > REQUEST_BYTES_MAX));
}

/* The op names a block whose contents are in host memory, and still are. */
static bool is_block_absent(const struct host *host, const struct call *call)
{
    const uint8_t kind = call->op.kind;
    const struct block *block = call->slot == SLOT_NONE ? NULL
                                                        : model_block(host->model, call->slot);
    return (kind == OP_USE || kind == OP_DONATE || kind == OP_EXECUTE) && block != NULL &&
           block->is_absent && device_has_staged(host->device, call->slot, block->requested_bytes);
}

static bool may_fail(const struct host *host, const struct call *call)
{
    /* To take note of memory that went bad needs nothing of the device. */
    const uint32_t excuses = call->op.kind == OP_RETIRE ? 1u << FAULT_HOST_MEMORY : UINT32_MAX;
    return (device_faults_fired(host->device) & excuses) != 0 || is_block_absent(host, call);
}

/* The call of the target that an op of this kind makes: some kinds share one. */
static const char *name_call(enum op_kind kind)
{
    const enum op_kind plain = kind == OP_OUTPUT       ? OP_ALLOC
                               : kind == OP_FREE_AFTER ? OP_FREE
                                                       : kind;
    return op_kind_info(plain)->name;
}

/* The op got a result that it cannot get. */
static bool break_result(const struct rule_evidence *evidence, const char *result)
{
    char mechanism[VERDICT_MECHANISM_BYTES];
    const struct call *call = evidence->call;
    (void)snprintf(mechanism, sizeof mechanism, "%s returned %s", name_call(call->op.kind), result);
    /* Nobody knows what a granted request takes that can never be right. */
    return call->result == TARGET_OK
               ? evidence_end(evidence, RULE_STATUS, mechanism, "{op} returned %s", result)
               : evidence_break_as(evidence, RULE_STATUS, mechanism, "{op} returned %s", result);
}

static bool judge_result(const struct rule_evidence *evidence)
{
    static const char *const names[] = {"OK", "NO_MEMORY", "INVALID", "FAILED"};
    const struct call *call = evidence->call;
    const struct op *op = &call->op;
    if ((unsigned)call->result >= sizeof names / sizeof names[0]) {
        return evidence_end(evidence, RULE_STATUS, NULL,
                            "the result is %u, which is no valid result", (unsigned)call->result);
    }
    if (call->result == TARGET_FAILED && may_fail(evidence->host, call)) {
        return true;
    }
    if (is_invalid_request(op) != (call->result == TARGET_INVALID) ||
        call->result == TARGET_FAILED ||
        (call->result == TARGET_NO_MEMORY && !judge_is_request(op))) {
        return break_result(evidence, names[call->result]);
    }
    return true;
}

/* No op can use a block that is in host memory alone. */
static bool judge_presence(const struct rule_evidence *evidence)
{
    const uint8_t kind = evidence->call->op.kind;
    const bool needs_block = kind == OP_USE || kind == OP_DONATE || kind == OP_EXECUTE;
    return !needs_block || !evidence_block(evidence)->is_absent ||
           evidence_break(evidence, RULE_STATUS,
                          "{op} returned OK, but the contents of block {block} are in host memory");
}

/* A load that was granted: the oracle does not refute its stack; where it was not asked, the stack
 * is within the bound. */
static bool judge_loaded(const struct rule_evidence *evidence)
{
    const struct verdict *proof = evidence->proof;
    const bool is_above_bound = evidence->size_bytes > evidence->reservable_bytes;
    const bool is_refuted = proof == NULL ? is_above_bound : proof->kind == VERDICT_JUSTIFIED;
    if (is_refuted && is_above_bound) {
        return evidence_break(
            evidence, RULE_STATUS,
            "load returned OK for a stack of {size} bytes, but at most {reservable} can be reserved");
    }
    return !is_refuted ||
           evidence_break(
               evidence, RULE_STATUS,
               "load returned OK for a stack of {size} bytes, but it cannot be reserved: %s",
               proof->reason);
}

bool rules_judge_status(const struct rule_evidence *evidence)
{
    switch (evidence->sight) {
    case SIGHT_ABSENT:
        return judge_presence(evidence);
    case SIGHT_GONE: /* what the target took it for nobody knows */
        return evidence_end(evidence, RULE_STATUS, NULL,
                            "{op} returned OK for block %" PRIu32 ", which was gone",
                            evidence->call->op.ref);
    case SIGHT_STACK:
        return judge_loaded(evidence);
    default:
        return judge_result(evidence);
    }
}

/* True if the call moved blocks or evicted programs. */
static bool has_made_room(const struct device *device)
{
    EACH_DEVICE_CALL(device, made) {
        const enum device_call_kind kind = made->kind;
        if (made->result == DEVICE_OK &&
            (kind == DEVICE_CALL_COPY || kind == DEVICE_CALL_STAGE_IN ||
             kind == DEVICE_CALL_UNLOAD)) {
            return true;
        }
    }
    return false;
}

/* Whatever the contract promises: nothing but the target's own mind lies between the two. */
bool rules_judge_retry(const struct rule_evidence *evidence)
{
    const struct call *call = evidence->call;
    if (call->result != TARGET_OK || !call->is_pinned || evidence->judge->is_refusal_settled) {
        return true;
    }
    const bool made_room = has_made_room(evidence->host->device);
    return evidence_break_as(
        evidence, RULE_RETRY, "granted when asked again",
        "{op} was refused as op %" PRIu32
        " and granted when it was asked again%s, with no event and no time in between: the refusal was premature",
        call->number - 1, made_room ? ", after moves or evictions of its own" : "");
}
