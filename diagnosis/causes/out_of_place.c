#include "diagnosis/cause.h"
#include "diagnosis/private/pins.h"
#include "harness/base/align.h"

#include <inttypes.h>

enum { CONFIDENCE = 90 };

static bool has_room(const struct evidence *evidence, uint64_t start, uint64_t end, uint64_t align)
{
    const uint64_t at = align_up(start, align);
    return at <= end && evidence->op->size_bytes <= end - at;
}

/* Whether a hole has the size at a multiple of align. */
static bool has_aligned_room(const struct evidence *evidence, uint64_t align)
{
    uint64_t end = evidence->stack_bytes;
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_GONE || block->is_absent) {
            break;
        }
        if (block->address > end && has_room(evidence, end, block->address, align)) {
            return true;
        }
        end = block->address + block->size_bytes;
    }
    return has_room(evidence, end, evidence->capacity_bytes, align);
}

static void find_stack(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const uint64_t stack_bytes = evidence_stack_bytes(evidence, evidence->op);
    const struct evidence_block *block = pins_lowest_below(evidence, stack_bytes);
    if (block == NULL) {
        return;
    }
    diagnosis->confidence = CONFIDENCE;
    diagnosis->op = block->op;
    diagnosis_number(diagnosis, "free_bytes", evidence->free_bytes);
    diagnosis_number(diagnosis, "stack_bytes", stack_bytes);
    diagnosis_describe(
        diagnosis,
        "%s are free, enough for the requested %s. But the stack, %s, must lie at the bottom, where it would overlap ",
        diagnosis_size(evidence->free_bytes).text, diagnosis_size(evidence->requested_bytes).text,
        diagnosis_size(stack_bytes).text);
    pins_describe_block(evidence, block, diagnosis);
    diagnosis_describe(diagnosis, ".");
}

static void describe_alignment(const struct evidence *evidence, uint64_t align,
                               struct diagnosis *diagnosis)
{
    diagnosis->confidence = CONFIDENCE;
    diagnosis_number(diagnosis, "free_bytes", evidence->free_bytes);
    diagnosis_number(diagnosis, "largest_hole_bytes", evidence->largest_hole_bytes);
    diagnosis_number(diagnosis, "align_bytes", align);
    diagnosis_describe(
        diagnosis,
        "%s are free in %" PRIu64
        " hole%s; the largest has %s. No hole has the requested %s at a multiple of %s.",
        diagnosis_size(evidence->free_bytes).text, evidence->hole_count,
        evidence->hole_count == 1 ? "" : "s", diagnosis_size(evidence->largest_hole_bytes).text,
        diagnosis_size(evidence->requested_bytes).text, diagnosis_size(align).text);
    pins_describe(evidence, diagnosis);
}

static void find_out_of_place(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct op *op = evidence->op;
    if (op == NULL || evidence->missing_bytes > 0 || evidence->contract->regions.grows ||
        evidence->largest_hole_bytes < evidence->requested_bytes) {
        return;
    }
    const bool is_aligned = op_kind_info((enum op_kind)op->kind)->has_align && op->align_log2 > 0;
    const uint64_t align = is_aligned ? UINT64_C(1) << op->align_log2 : 1;
    if (is_aligned && !has_aligned_room(evidence, align)) {
        describe_alignment(evidence, align, diagnosis);
        return;
    }
    find_stack(evidence, diagnosis);
}

const struct cause cause_out_of_place = {
    .name = "out_of_place",
    .summary = "one hole is large enough, but does not lie where the request needs it",
    .claim = CLAIM_NO_ROOM,
    .find = find_out_of_place,
};
