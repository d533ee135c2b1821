#include "diagnosis/cause.h"
#include "diagnosis/private/findings.h"
#include "diagnosis/strength.h"
#include "harness/base/align.h"
#include "harness/op/rounding.h"

#include <inttypes.h>

/* The size and alignment that the request needs; align_bytes is 1 if any place will do. */
struct need {
    uint64_t size_bytes, align_bytes;
};

static struct need find_need(const struct evidence *evidence)
{
    const struct op *op = evidence->op;
    const struct target_contract *contract = evidence->contract;
    const bool has_align = op_kind_info((enum op_kind)op->kind)->has_align;
    struct need need = {op->size_bytes, has_align ? UINT64_C(1) << op->align_log2 : 1};
    if (contract->aligns_naturally && op->size_bytes <= ROUNDING_BYTES_MAX) {
        need.size_bytes = rounding_bytes_needed(&contract->rounding, contract->granule_bytes,
                                                op->size_bytes);
        need.align_bytes = need.size_bytes > need.align_bytes ? need.size_bytes : need.align_bytes;
    }
    return need;
}

static bool has_room(const struct need *need, uint64_t start, uint64_t end)
{
    const uint64_t at = align_up(start, need->align_bytes);
    return at <= end && need->size_bytes <= end - at;
}

/* True if a hole has room for the size at a multiple of the alignment. */
static bool has_aligned_room(const struct evidence *evidence, const struct need *need)
{
    uint64_t end = evidence->stack_bytes;
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_GONE || block->is_absent) {
            break;
        }
        if (block->address > end && has_room(need, end, block->address)) {
            return true;
        }
        end = block->address + block->size_bytes;
    }
    return has_room(need, end, evidence->capacity_bytes);
}

static void find_stack(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const uint64_t stack_bytes = evidence_stack_bytes(evidence, evidence->op);
    const struct evidence_block *block = pins_lowest_below(evidence, stack_bytes);
    if (block == NULL) {
        return;
    }
    strength_set(diagnosis, STRENGTH_OUT_OF_PLACE);
    diagnosis->op = block->op;
    diagnosis_number(diagnosis, "free_bytes", evidence->free_bytes);
    diagnosis_number(diagnosis, "stack_bytes", stack_bytes);
    diagnosis_describe(
        diagnosis,
        "%s are free, enough for the requested %s. But the stack, %s, must lie at the bottom, where it would overlap ",
        size_text_of(evidence->free_bytes).text, size_text_of(evidence->requested_bytes).text,
        size_text_of(stack_bytes).text);
    pins_describe_block(evidence, block, diagnosis);
    diagnosis_describe(diagnosis, ".");
}

static void describe_alignment(const struct evidence *evidence, const struct need *need,
                               struct diagnosis *diagnosis)
{
    strength_set(diagnosis, STRENGTH_OUT_OF_PLACE);
    diagnosis_number(diagnosis, "free_bytes", evidence->free_bytes);
    diagnosis_number(diagnosis, "largest_hole_bytes", evidence->largest_hole_bytes);
    diagnosis_number(diagnosis, "align_bytes", need->align_bytes);
    diagnosis_describe(diagnosis,
                       "%s are free in %" PRIu64
                       " hole%s; the largest has %s. No hole has %s%s at a multiple of %s.",
                       size_text_of(evidence->free_bytes).text, evidence->hole_count,
                       evidence->hole_count == 1 ? "" : "s",
                       size_text_of(evidence->largest_hole_bytes).text,
                       evidence->contract->aligns_naturally ? "" : "the requested ",
                       size_text_of(need->size_bytes).text, size_text_of(need->align_bytes).text);
    pins_describe(evidence, diagnosis);
}

static void find_out_of_place(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct op *op = evidence->op;
    if (op == NULL || evidence->missing_bytes > 0 || evidence->contract->regions.grows ||
        evidence->largest_hole_bytes < evidence->requested_bytes) {
        return;
    }
    const struct need need = find_need(evidence);
    if (need.align_bytes > 1 && need.size_bytes <= evidence->largest_hole_bytes &&
        !has_aligned_room(evidence, &need)) {
        describe_alignment(evidence, &need, diagnosis);
        return;
    }
    find_stack(evidence, diagnosis);
}

const struct cause cause_out_of_place = {
    .name = "out_of_place",
    .summary = "one hole is large enough, but does not lie where the request needs it",
    .claim = CLAIM_NO_ROOM,
    .find = find_out_of_place,
    .remedies = {&remedy_defrag, &remedy_pages},
};
