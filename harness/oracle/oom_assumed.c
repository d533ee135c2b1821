/* The two heaps that a message allows: in one of them all that is assumed holds. */
#include "harness/oracle/oom.h"

#include "harness/base/align.h"

/* What is neither in a block nor reserved now. */
static uint64_t find_free_bytes(const struct oom *oom)
{
    uint64_t taken = oom_reserved_bytes(oom);
    for (size_t i = 0; i < oom->block_count; i++) {
        taken += oom_block_is_absent(&oom->blocks[i]) ? 0 : oom->blocks[i].size_bytes;
    }
    return taken < oom->capacity_bytes ? oom->capacity_bytes - taken : 0;
}

/* A longer or shorter list may end in another request, to which the message says nothing. */
static bool is_reported(const struct oom *oom, const struct setup_reported *reported)
{
    const struct oom_request *request = &oom->request;
    const uint64_t amount = request->stack_bytes > 0 ? request->stack_bytes : request->size_bytes;
    const uint64_t free_bytes = find_free_bytes(oom);
    return reported->is_there && amount >= reported->requested_low &&
           amount <= align_up(reported->requested_high, oom->granule_bytes) &&
           free_bytes >= reported->free_low && free_bytes <= reported->free_high;
}

static void assume_blocks(struct oom *oom, const struct model *model, unsigned tag)
{
    for (size_t i = 0; i < oom->block_count; i++) {
        struct oom_block *block = &oom->blocks[i];
        const uint32_t slot = model_slot_of_op(model, block->op);
        const bool is_buffer = block->kind == BLOCK_BUFFER || block->kind == BLOCK_OUTPUT;
        block->is_assumed = is_buffer && block->state == BLOCK_LIVE && block->hold_count > 0 &&
                            slot != SLOT_NONE && model_block(model, slot)->tag == tag;
    }
}

void oom_assume(struct oom *oom, const struct model *model, const struct setup *setup)
{
    const unsigned tag = setup_tag_named(setup, SETUP_ASSUMED_NAME);
    if (oom->placement != PLACEMENT_RANGES) {
        return;
    }
    if (tag != OP_TAG_COUNT) {
        assume_blocks(oom, model, tag);
    }
    if (is_reported(oom, &setup->reported)) {
        struct oom_request *request = &oom->request;
        const uint64_t least = setup->reported.image_least;
        oom->reported = setup->reported;
        request->other_bytes = least > 0 && least < request->size_bytes ? least
                                                                        : request->size_bytes;
    }
}

bool oom_has_other(const struct oom *oom)
{
    bool has_other = oom->request.other_bytes != oom->request.size_bytes;
    for (size_t i = 0; !has_other && i < oom->block_count; i++) {
        has_other = oom->blocks[i].is_assumed;
    }
    return has_other;
}
