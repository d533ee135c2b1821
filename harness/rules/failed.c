#include "harness/base/check.h"
#include "harness/device/span_map.h"
#include "harness/op/rounding.h"
#include "harness/rules/judge.h"
#include "harness/rules/private/families.h"

/* --- what the device was asked for --- */

bool judge_may_mitigate(const struct judge *judge, const struct call *call)
{
    const bool is_invalid = call->result == TARGET_INVALID;
    const bool has_failed = call->result == TARGET_FAILED;
    return judge->had_absent || judge->has_wrong_status || (!is_invalid && !has_failed) ||
           (has_failed && (judge_is_request(&call->op) || call->op.kind == OP_DEFRAGMENT));
}

/* True if the call was granted and did something.  Time that a fault let pass is nobody's. */
static bool has_effect(const struct judge *judge, const struct host *host,
                       const struct device_call *made, uint64_t completed_after)
{
    if (made->result != DEVICE_OK && made->result != DEVICE_PARTIAL) {
        return false;
    }
    /* Host memory that was granted is not in the log. */
    CHECK(made->kind != DEVICE_CALL_HOST_ALLOC);
    /* Any call may see that a block is gone, and that its region is empty. */
    if (made->kind == DEVICE_CALL_REGION_GIVE) {
        return false;
    }
    return made->kind != DEVICE_CALL_WAIT ||
           (completed_after > made->completed_before && !judge->is_overlapping &&
            device_faults_struck(host->device) == 0);
}

/* A sleep or wake that fails may have come some way. */
static bool is_step_of_sleep(const struct call *call, const struct device_call *made)
{
    return (call->op.kind == OP_SLEEP || call->op.kind == OP_WAKE) &&
           (made->kind == DEVICE_CALL_STAGE_OUT || made->kind == DEVICE_CALL_STAGE_IN ||
            made->kind == DEVICE_CALL_MAP);
}

static bool check_effort(struct judge *judge, const struct host *host, const struct call *call)
{
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    struct rule_evidence effort = evidence_on(judge, host, call, SIGHT_EFFORT, SLOT_NONE);
    if (judge_may_mitigate(judge, call)) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t after = i + 1 < count ? calls[i + 1].completed_before
                                             : judge->absorbed_counts[host->clock];
        effort.made = &calls[i];
        if (has_effect(judge, host, &calls[i], after) && !is_step_of_sleep(call, &calls[i]) &&
            !rule_judge(RULE_FAILED_CHANGED, &effort)) {
            return false;
        }
    }
    return true;
}

/* --- what it left --- */

static bool check_stages(struct judge *judge, const struct host *host, const struct call *call)
{
    struct rule_evidence left = evidence_on(judge, host, call, SIGHT_STAGE, SLOT_NONE);
    EACH_DEVICE_CALL(host->device, made) {
        uint32_t owner = SLOT_NONE;
        if (made->kind != DEVICE_CALL_STAGE_OUT || made->result != DEVICE_OK ||
            !device_has_stage(host->device, made->to, &owner) ||
            (owner != SLOT_NONE && model_block(host->model, owner)->is_absent)) {
            continue;
        }
        left.made = made;
        if (!rule_judge(RULE_FAILED_CHANGED, &left)) {
            return false;
        }
    }
    return true;
}

/* The program is evicted: locate says so. */
static bool check_image(const struct rule_evidence *failure, const struct block *program)
{
    const struct host *host = failure->host;
    struct target_block at = {0};
    struct rule_evidence left = *failure;
    if (program->state != BLOCK_GONE || host->target->locate == NULL ||
        host->target->locate(host->instance, program->handle, &at) != TARGET_OK) {
        return true;
    }
    left.sight = SIGHT_IMAGE_LEFT;
    left.slot = model_slot_of_op(host->model, program->op);
    left.address = at.address;
    return rule_judge(RULE_FAILED_CHANGED, &left);
}

static bool check_images(const struct rule_evidence *failure)
{
    const struct model *model = failure->host->model;
    for (size_t i = 0; i < model_program_count(model); i++) {
        if (!check_image(failure, model_program(model, i))) {
            return false;
        }
    }
    return true;
}

/* --- the report --- */

/* The row that a report would have for what the call asked for. */
struct asked_row {
    const struct model *model;
    uint64_t low_bytes, high_bytes;
    enum block_kind kind;
    uint32_t tag;
    bool is_found;
    struct target_row row; /* when it is found */
};

static bool make_asked_row(const struct host *host, const struct call *call,
                           struct asked_row *asked)
{
    static const struct {
        bool is_in_report;
        enum block_kind kind;
    } rows[OP_KIND_COUNT] = {
        [OP_ALLOC] = {true, BLOCK_BUFFER},   [OP_OUTPUT] = {true, BLOCK_OUTPUT},
        [OP_LOAD] = {true, BLOCK_PROGRAM},   [OP_EXECUTE] = {true, BLOCK_PROGRAM},
        [OP_RETIRE] = {true, BLOCK_RETIRED}, [OP_DONATE] = {true, BLOCK_OUTPUT}};
    const struct op *op = &call->op;
    const struct target_contract *contract = &host->contract;
    if (!rows[op->kind].is_in_report) {
        return false;
    }
    *asked = (struct asked_row){.model = host->model,
                                .kind = rows[op->kind].kind,
                                .low_bytes = op->size_bytes,
                                .tag = op->tag};
    if (op->kind == OP_EXECUTE) {
        asked->low_bytes = model_block(host->model, call->slot)->requested_bytes;
    }
    asked->high_bytes = op->kind == OP_RETIRE ? op->size_bytes
                        : op->kind == OP_DONATE
                            ? model_block(host->model, call->slot)->size_bytes
                            : rounding_bytes_max(&contract->rounding, contract->granule_bytes,
                                                 asked->low_bytes);
    return true;
}

static bool is_asked(const struct asked_row *asked, const struct target_row *row)
{
    return row->kind == asked->kind && row->size_bytes >= asked->low_bytes &&
           row->size_bytes <= asked->high_bytes &&
           (row->kind == BLOCK_PROGRAM || row->kind == BLOCK_RETIRED || row->tag == asked->tag);
}

static bool is_of_absent(const struct model *model, const struct target_row *row)
{
    for (size_t i = 0; i < model_absent_count(model); i++) {
        if (reported_row_is_of(row, model_block(model, model_absent_slot(model, i)))) {
            return true;
        }
    }
    return false;
}

static bool is_of_block(const struct model *model, const struct target_row *row)
{
    struct span span;
    const uint64_t start = row->address - model_contract(model)->header_bytes;
    if (row->address == TARGET_ADDRESS_NONE) {
        return is_of_absent(model, row);
    }
    return span_map_intersects(model_map(model), start, start + 1, &span) && span.start == start &&
           reported_row_is_of(row, model_block(model, (uint32_t)span.owner));
}

static void look_at_row(void *context, const struct target_row *row)
{
    struct asked_row *asked = context;
    if (!asked->is_found && is_asked(asked, row) && !is_of_block(asked->model, row)) {
        asked->is_found = true;
        asked->row = *row;
    }
}

/* The op is over: what the report takes for sorting is not of it, and no fault waits for that. */
static bool check_report(const struct rule_evidence *failure)
{
    const struct host *host = failure->host;
    struct asked_row asked = {.is_found = false};
    struct rule_evidence left = *failure;
    if (host->target->report != NULL && host->contract.placement == PLACEMENT_RANGES &&
        make_asked_row(host, failure->call, &asked)) {
        device_pin(host->device, true);
        host->target->report(host->instance, look_at_row, &asked);
        device_pin(host->device, false);
    }
    left.sight = SIGHT_ROW_LEFT;
    left.address = asked.row.address;
    left.size_bytes = asked.row.size_bytes;
    return !asked.is_found || rule_judge(RULE_FAILED_CHANGED, &left);
}

/* --- all of it --- */

/* 2^32 divided by the golden ratio: it scatters numbers, for lists that repeat themselves. */
#define SCATTER UINT32_C(0x9E3779B1)

bool judge_failed(struct judge *judge, const struct host *host, const struct call *call)
{
    if (call->result == TARGET_OK) {
        return true;
    }
    const struct rule_evidence failure = evidence_on(judge, host, call, SIGHT_ANSWER, SLOT_NONE);
    if (!check_effort(judge, host, call) || !check_stages(judge, host, call)) {
        return false;
    }
    if (call->result != TARGET_NO_MEMORY || call->number * SCATTER >> 29 == 0) {
        return check_images(&failure) && (judge->is_overlapping || check_report(&failure));
    }
    return call->op.kind != OP_EXECUTE || call->slot == SLOT_NONE ||
           check_image(&failure, model_block(host->model, call->slot));
}

/* This rule asks if a call that failed left everything as it was. */

static bool break_effort(const struct rule_evidence *evidence)
{
    static const char *const efforts[DEVICE_CALL_KIND_COUNT] = {
        [DEVICE_CALL_COPY] = "copied memory",
        [DEVICE_CALL_STAGE_OUT] = "copied memory to the host",
        [DEVICE_CALL_STAGE_IN] = "copied memory from the host",
        [DEVICE_CALL_WAIT] = "awaited an event",
        [DEVICE_CALL_UNLOAD] = "evicted a program",
        [DEVICE_CALL_MAP] = "took memory of the device",
        [DEVICE_CALL_REGION_TAKE] = "took a region",
    };
    return evidence_break(evidence, RULE_FAILED_CHANGED,
                          "{op} failed, and %s although no such failure needs that",
                          efforts[evidence->made->kind]);
}

bool rules_judge_failed_changed(const struct rule_evidence *evidence)
{
    const enum rule rule = RULE_FAILED_CHANGED;
    if (evidence->call->result == TARGET_OK) {
        return true;
    }
    switch (evidence->sight) {
    case SIGHT_EFFORT:
        return break_effort(evidence);
    case SIGHT_SIZE:
        return evidence_break(evidence, rule,
                              "block {block} has {size} bytes after a call that failed, not {had}");
    case SIGHT_STAGE:
        return evidence_break(
            evidence, rule,
            "{op} failed and left a stage of {made_bytes} bytes from {made_from} in host memory, of no block that is there alone");
    case SIGHT_IMAGE_LEFT:
        return evidence_break(
            evidence, rule,
            "{op} failed, and program {block}, which is evicted, has its image at {at}");
    case SIGHT_ROW_LEFT:
        return evidence->address == TARGET_ADDRESS_NONE
                   ? evidence_break(
                         evidence, rule,
                         "{op} failed, and the report has a row of {size} bytes without an address for what it was asked")
                   : evidence_break(
                         evidence, rule,
                         "{op} failed, and the report has a row of {size} bytes at {at} for what it was asked");
    default:
        return evidence->has_moved ||
               evidence_break(evidence, rule,
                              "block {block} went from {was} to {at} in a call that failed");
    }
}
