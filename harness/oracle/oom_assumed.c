/* The two heaps that a message allows: in one of them all that is assumed holds. */
#include "harness/oracle/oom.h"

#include "harness/base/align.h"

/* Returns the bytes that are neither in a block nor reserved now. */
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

bool oom_may_move(const struct oom *oom)
{
    const uint32_t refused = 1u << FAULT_COPY | 1u << FAULT_HOST_MEMORY;
    return oom->defrag != DEFRAG_NONE && (oom->faults_fired & refused) == 0;
}

/* Sets what is assumed of a block by the name of its op's tag. */
static void assume_block(struct oom *oom, struct oom_block *block, const char *tag_name)
{
    const bool is_buffer = block->kind == BLOCK_BUFFER || block->kind == BLOCK_OUTPUT;
    if (!is_buffer || block->state != BLOCK_LIVE) {
        return;
    }
    block->is_assumed = block->hold_count > 0 && setup_is_assumed_name(tag_name);
    block->is_placed = !oom_may_move(oom) && !oom->promised.grows && !oom_block_is_absent(block) &&
                       setup_is_placed_name(tag_name);
}

static void assume_blocks(struct oom *oom, const struct model *model, const struct setup *setup)
{
    for (size_t i = 0; setup->has_tags && i < oom->block_count; i++) {
        const uint32_t slot = model_slot_of_op(model, oom->blocks[i].op);
        if (slot != SLOT_NONE) {
            assume_block(oom, &oom->blocks[i], setup->tags[model_block(model, slot)->tag]);
        }
    }
}

void oom_assume(struct oom *oom, const struct model *model, const struct setup *setup)
{
    if (oom->placement != PLACEMENT_RANGES) {
        return;
    }
    assume_blocks(oom, model, setup);
    if (is_reported(oom, &setup->reported)) {
        struct oom_request *request = &oom->request;
        const uint64_t least = setup->reported.image_least;
        oom->reported = setup->reported;
        request->other_bytes = least > 0 && least < request->size_bytes ? least
                                                                        : request->size_bytes;
    }
}

bool oom_has_placed(const struct oom *oom)
{
    bool is_found = false;
    for (size_t i = 0; !is_found && i < oom->block_count; i++) {
        is_found = oom->blocks[i].is_placed;
    }
    return is_found;
}

bool oom_has_other(const struct oom *oom)
{
    bool has_other = oom->request.other_bytes != oom->request.size_bytes || oom_has_placed(oom);
    for (size_t i = 0; !has_other && i < oom->block_count; i++) {
        has_other = oom->blocks[i].is_assumed;
    }
    return has_other;
}

/* Upwards from the reserved bytes, or downwards from the capacity. */
void oom_place_others(struct oom *oom)
{
    const bool is_high = oom->request.stack_bytes > 0;
    uint64_t at = is_high ? oom->capacity_bytes : oom_reserved_bytes(oom);
    for (size_t i = 0; i < oom->block_count; i++) {
        struct oom_block *block = &oom->blocks[is_high ? oom->block_count - 1 - i : i];
        if (oom_block_is_absent(block)) {
            continue;
        }
        if (block->is_placed) {
            block->address = is_high ? align_down(at - block->size_bytes, block->align_bytes)
                                     : align_up(at, block->align_bytes);
        }
        at = is_high ? block->address : block->address + block->size_bytes;
    }
}
