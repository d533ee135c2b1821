/* Whether a call that failed left everything as it was. */
#include "harness/rules/private/rules.h"

#include <inttypes.h>

static const char *name_op(const struct evidence *evidence)
{
    return op_kind_info(evidence->call->op.kind)->name;
}

static bool break_place(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    return evidence_break(evidence, RULE_FAILED_CHANGED,
                          "block %" PRIu32 " went from 0x%" PRIx64 " to 0x%" PRIx64
                          " in a call that failed",
                          block->op, block->address, evidence->address);
}

static bool break_size(const struct evidence *evidence)
{
    const struct block *block = evidence_block(evidence);
    return evidence_break(evidence, RULE_FAILED_CHANGED,
                          "block %" PRIu32 " has %" PRIu64
                          " bytes after a call that failed, not %" PRIu64,
                          block->op, evidence->size_bytes, block->size_bytes);
}

static bool break_effort(const struct evidence *evidence)
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
                          "%s failed, and %s although no such failure needs that",
                          name_op(evidence), efforts[evidence->made->kind]);
}

static bool break_stage(const struct evidence *evidence)
{
    return evidence_break(evidence, RULE_FAILED_CHANGED,
                          "%s failed and left a stage of %" PRIu64 " bytes from 0x%" PRIx64
                          " in host memory, of no block that is there alone",
                          name_op(evidence), evidence->made->bytes, evidence->made->from);
}

static bool break_image(const struct evidence *evidence)
{
    return evidence_break(evidence, RULE_FAILED_CHANGED,
                          "%s failed, and program %" PRIu32
                          ", which is evicted, has its image at 0x%" PRIx64,
                          name_op(evidence), evidence_block(evidence)->op, evidence->address);
}

static bool break_row(const struct evidence *evidence)
{
    if (evidence->address == TARGET_ADDRESS_NONE) {
        return evidence_break(evidence, RULE_FAILED_CHANGED,
                              "%s failed, and the report has a row of %" PRIu64
                              " bytes without an address for what it was asked",
                              name_op(evidence), evidence->size_bytes);
    }
    return evidence_break(evidence, RULE_FAILED_CHANGED,
                          "%s failed, and the report has a row of %" PRIu64 " bytes at 0x%" PRIx64
                          " for what it was asked",
                          name_op(evidence), evidence->size_bytes, evidence->address);
}

bool rules_judge_failed_changed(const struct evidence *evidence)
{
    if (evidence->call->result == TARGET_OK) {
        return true;
    }
    switch (evidence->sight) {
    case SIGHT_SIZE:
        return break_size(evidence);
    case SIGHT_EFFORT:
        return break_effort(evidence);
    case SIGHT_STAGE:
        return break_stage(evidence);
    case SIGHT_IMAGE_LEFT:
        return break_image(evidence);
    case SIGHT_ROW_LEFT:
        return break_row(evidence);
    default:
        return evidence->has_moved || break_place(evidence);
    }
}
