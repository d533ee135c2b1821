#include "harness/rules/private/judge_failed.h"

#include "harness/base/check.h"
#include "harness/device/span_map.h"
#include "harness/op/rounding.h"
#include "harness/rules/judge_completions.h"
#include "harness/rules/judge_request.h"
#include "harness/rules/private/reported_row.h"
#include "harness/rules/private/rules.h"

static struct evidence seen_failure(struct judge *judge, const struct host *host,
                                    const struct call *call, enum sight sight)
{
    return (struct evidence){
        .judge = judge, .host = host, .call = call, .sight = sight, .slot = SLOT_NONE};
}

/* --- what the device was asked for --- */

bool judge_may_mitigate(const struct judge *judge, const struct call *call)
{
    const bool is_invalid = call->result == TARGET_INVALID;
    const bool has_failed = call->result == TARGET_FAILED;
    return judge->had_absent || judge->has_wrong_status || (!is_invalid && !has_failed) ||
           (has_failed && (judge_is_request(&call->op) || call->op.kind == OP_DEFRAGMENT));
}

/* Whether the call was granted and did something.  Time that a fault let pass is nobody's. */
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
    struct evidence effort = seen_failure(judge, host, call, SIGHT_EFFORT);
    if (judge_may_mitigate(judge, call)) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t after = i + 1 < count ? calls[i + 1].completed_before
                                             : judge_absorbed_count(judge, host);
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
    size_t count = 0;
    const struct device_call *calls = device_calls(host->device, &count);
    struct evidence left = seen_failure(judge, host, call, SIGHT_STAGE);
    for (size_t i = 0; i < count; i++) {
        uint32_t owner = SLOT_NONE;
        if (calls[i].kind != DEVICE_CALL_STAGE_OUT || calls[i].result != DEVICE_OK ||
            !device_has_stage(host->device, calls[i].to, &owner) ||
            (owner != SLOT_NONE && model_block(host->model, owner)->is_absent)) {
            continue;
        }
        left.made = &calls[i];
        if (!rule_judge(RULE_FAILED_CHANGED, &left)) {
            return false;
        }
    }
    return true;
}

/* The program is evicted: locate says so. */
static bool check_image(const struct evidence *failure, const struct block *program)
{
    const struct host *host = failure->host;
    struct target_block at = {0};
    struct evidence left = *failure;
    if (program->state != BLOCK_GONE || host->target->locate == NULL ||
        host->target->locate(host->instance, program->handle, &at) != TARGET_OK) {
        return true;
    }
    left.sight = SIGHT_IMAGE_LEFT;
    left.slot = model_slot_of_op(host->model, program->op);
    left.address = at.address;
    return rule_judge(RULE_FAILED_CHANGED, &left);
}

static bool check_images(const struct evidence *failure)
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

/* What a row would say of what the call was asked for. */
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
    const struct op *op = &call->op;
    const struct target_contract *contract = &host->contract;
    *asked = (struct asked_row){.model = host->model, .low_bytes = op->size_bytes, .tag = op->tag};
    switch ((enum op_kind)op->kind) {
    case OP_ALLOC:
        asked->kind = BLOCK_BUFFER;
        break;
    case OP_OUTPUT:
        asked->kind = BLOCK_OUTPUT;
        break;
    case OP_LOAD:
        asked->kind = BLOCK_PROGRAM;
        break;
    case OP_EXECUTE:
        asked->kind = BLOCK_PROGRAM;
        asked->low_bytes = model_block(host->model, call->slot)->requested_bytes;
        break;
    case OP_RETIRE:
        asked->kind = BLOCK_RETIRED;
        asked->high_bytes = op->size_bytes;
        return true;
    case OP_DONATE:
        asked->kind = BLOCK_OUTPUT;
        asked->high_bytes = model_block(host->model, call->slot)->size_bytes;
        return true;
    default:
        return false;
    }
    asked->high_bytes = rounding_bytes_max(&contract->rounding, contract->granule_bytes,
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
static bool check_report(const struct evidence *failure)
{
    const struct host *host = failure->host;
    struct asked_row asked = {.is_found = false};
    struct evidence left = *failure;
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

static bool is_looked_at_in_full(const struct call *call)
{
    return call->result != TARGET_NO_MEMORY || call->number * SCATTER >> 29 == 0;
}

bool judge_failed(struct judge *judge, const struct host *host, const struct call *call)
{
    if (call->result == TARGET_OK) {
        return true;
    }
    const struct evidence failure = seen_failure(judge, host, call, SIGHT_ANSWER);
    if (!check_effort(judge, host, call) || !check_stages(judge, host, call)) {
        return false;
    }
    if (is_looked_at_in_full(call)) {
        return check_images(&failure) && (judge->is_overlapping || check_report(&failure));
    }
    return call->op.kind != OP_EXECUTE || call->slot == SLOT_NONE ||
           check_image(&failure, model_block(host->model, call->slot));
}
