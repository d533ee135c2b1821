#include "harness/op/rounding.h"
#include "harness/rules/private/families.h"

#include <inttypes.h>
#include <stdio.h>

/* These rules judge where a block is, and how large: the range that a call was given, and the place
 * that a block has after an op. */

bool rules_judge_too_small(const struct rule_evidence *evidence)
{
    const uint64_t header_bytes = evidence->host->contract.header_bytes;
    char behind[48] = "";
    if (evidence->size_bytes >= header_bytes &&
        evidence->size_bytes - header_bytes >= evidence->asked_bytes) {
        return true;
    }
    if (header_bytes > 0) {
        (void)snprintf(behind, sizeof behind, " behind a header of %" PRIu64, header_bytes);
    }
    return evidence_break(evidence, RULE_TOO_SMALL,
                          "the block has {size} bytes for a request of {asked}%s", behind);
}

/* The size of a donated block was judged when it was made. */
bool rules_judge_too_large(const struct rule_evidence *evidence)
{
    const struct target_contract *contract = &evidence->host->contract;
    const uint64_t most = rounding_bytes_max(&contract->rounding, contract->granule_bytes,
                                             evidence->asked_bytes);
    char text[ROUNDING_TEXT_BYTES];
    if (evidence->size_bytes <= most) {
        return true;
    }
    rounding_print(&contract->rounding, text);
    return evidence_break(
        evidence, RULE_TOO_LARGE,
        "the block has {size} bytes for a request of {asked}; its contract (rounding %s) allows %" PRIu64,
        text, most);
}

/* A block without an address takes what is free. */
static bool is_in_device(const struct rule_evidence *evidence)
{
    if (evidence->host->contract.placement != PLACEMENT_RANGES) {
        return evidence->sight != SIGHT_ANSWER ||
               evidence->size_bytes <= model_free_bytes(evidence->host->model);
    }
    const uint64_t capacity = model_capacity_bytes(evidence->host->model);
    return evidence->size_bytes <= capacity && evidence->address <= capacity - evidence->size_bytes;
}

bool rules_judge_outside(const struct rule_evidence *evidence)
{
    if (evidence->sight == SIGHT_DEVICE) {
        return !device_left_range(evidence->host->device) ||
               evidence_break(
                   evidence, RULE_OUTSIDE, "%s",
                   device_mapped_bytes(evidence->host->device) <
                           model_capacity_bytes(evidence->host->model)
                       ? "a copy met memory that the target gave back, or left the device"
                       : "a copy left the device");
    }
    if (is_in_device(evidence)) {
        return true;
    }
    if (evidence->host->contract.placement != PLACEMENT_RANGES) {
        return evidence_break(evidence, RULE_OUTSIDE,
                              "the block has {size} bytes, and no more than %" PRIu64 " were free",
                              model_free_bytes(evidence->host->model));
    }
    return evidence_break(evidence, RULE_OUTSIDE,
                          evidence->sight == SIGHT_ANSWER ? "[{at}, +{size}) is not in the device"
                                                          : "block {block} moved to {at}");
}

bool rules_judge_misaligned(const struct rule_evidence *evidence)
{
    const uint64_t address = evidence->address + evidence->host->contract.header_bytes;
    const bool is_aligned = address % evidence->align_bytes == 0;
    if (evidence->sight == SIGHT_ANSWER) {
        return (is_aligned && evidence->size_bytes % evidence->host->contract.granule_bytes == 0) ||
               evidence_break(evidence, RULE_MISALIGNED,
                              "0x%" PRIx64 " ({size} bytes) is not aligned to {align}", address);
    }
    return is_aligned || evidence_break(evidence, RULE_MISALIGNED, "block {block} moved to {at}");
}

bool rules_judge_recorded(const struct rule_evidence *evidence)
{
    return evidence_break(
        evidence, RULE_RECORDED,
        "[{at}, +{size}) lies on block {other} at {other_at}, to which recording {recording} writes each time that it is played");
}

/* --- blocks on each other, and on the stack --- */

/* SIGHT_ANSWER and SIGHT_PLACE: the range lies above the stack. */
static bool judge_above_stack(const struct rule_evidence *evidence)
{
    const uint64_t stack_end = model_reserved_bytes(evidence->host->model);
    return evidence->address >= stack_end ||
           evidence_break(
               evidence, RULE_OVERLAP,
               evidence->sight == SIGHT_ANSWER
                   ? "{at} lies in the stack, which ends at 0x%" PRIx64
                   : "block {block} moved to {at}, into the stack, which ends at 0x%" PRIx64,
               stack_end);
}

static bool judge_stack(const struct rule_evidence *evidence)
{
    struct span span;
    const struct model *model = evidence->host->model;
    const uint64_t reserved = model_reserved_bytes(model);
    const uint64_t stack = evidence->size_bytes > reserved ? evidence->size_bytes : reserved;
    const bool is_free = stack <= model_capacity_bytes(model) &&
                         !span_map_intersects(model_map(model), 0, stack, &span);
    return is_free || evidence_break(evidence, RULE_OVERLAP,
                                     "the stack [0, 0x%" PRIx64 ") lies on a block", stack);
}

bool rules_judge_overlap(const struct rule_evidence *evidence)
{
    switch (evidence->sight) {
    case SIGHT_CLASH:
        return evidence_break(evidence, RULE_OVERLAP,
                              "[{at}, +{size}) lies on live block {other} at {other_at}");
    case SIGHT_TAKEN:
        return evidence_break(evidence, RULE_OVERLAP, "block {block} was moved onto another block");
    case SIGHT_RETAKEN:
        return evidence_break(evidence, RULE_OVERLAP,
                              "block {block} came back from host memory onto block {other}");
    case SIGHT_STACK:
        return judge_stack(evidence);
    default:
        return judge_above_stack(evidence);
    }
}

/* --- queued frees --- */

/* True if the call releases the last thing that the block, freed before, waits for.  The target
 * knows of the free: one that moves blocks accepts queued frees. */
static bool is_released_last(const struct rule_evidence *evidence)
{
    const struct call *call = evidence->call;
    const struct block *block = evidence_block(evidence);
    return call != NULL && call->op.kind == OP_RELEASE && call->result == TARGET_OK &&
           call->slot == evidence->slot && block->hold_count == 1 && block->use_count == 0 &&
           block->wait_count == 0;
}

/* Writing over a queued free is wrong even if its events complete before the call returns.  What a
 * call releases itself it may write over. */
bool rules_judge_reused_early(const struct rule_evidence *evidence)
{
    const struct model *model = evidence->host->model;
    const uint32_t stream = evidence->call == NULL ? 0 : op_stream(&evidence->call->op);
    if (evidence->sight == SIGHT_CLASH) {
        return model_block(model, evidence->other)->state != BLOCK_DYING ||
               evidence_break(evidence, RULE_REUSED_EARLY,
                              "[{at}, +{size}) lies on dying block {other} at {other_at}");
    }
    if (evidence->sight == SIGHT_STREAM && evidence->other == SLOT_NONE) {
        const uint64_t kept_bytes = model_kept_elsewhere_bytes(model, stream);
        return model_free_bytes(model) >= kept_bytes ||
               evidence_break(evidence, RULE_REUSED_EARLY,
                              "with the block for stream %" PRIu32 " %" PRIu64
                              " bytes are free, and at least %" PRIu64
                              " are kept for streams whose events are not done",
                              stream, model_free_bytes(model), kept_bytes);
    }
    if (evidence->sight == SIGHT_STREAM) {
        return evidence_break(
            evidence, RULE_REUSED_EARLY,
            "[{at}, +{size}) for stream %" PRIu32
            " lies on block {other} at {other_at}, freed on stream %u, where its events are not done",
            stream, model_block(model, evidence->other)->stream);
    }
    return evidence_block(evidence)->state != BLOCK_DYING || evidence->may_be_absent ||
           is_released_last(evidence) ||
           evidence_break(
               evidence, RULE_REUSED_EARLY,
               "a copy to {made_to} overwrites block {block}, whose events are not done");
}
