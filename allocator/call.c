#include "allocator/private/call.h"

#include "allocator/private/check.h"

struct hbm_call hbm_call_begin(struct hbm *hbm, struct hbm_program *program)
{
    return (struct hbm_call){.hbm = hbm, .serial = ++hbm->call_count, .program = program};
}

bool hbm_call_may_evict(const struct hbm_call *call, const struct hbm_program *program)
{
    if (program->block == HBM_POOL_NONE || program->pin_count != 0 || program->unloading) {
        return false;
    }
    if (program->refused_in_call == call->serial) {
        return false;
    }
    const struct hbm_block *block = hbm_heap_at(&call->hbm->heap, program->block);
    return hbm_block_is_movable(block);
}

void hbm_call_refresh(struct hbm_call *call)
{
    const struct hbm_program *program = call->program;
    if (program == NULL) {
        return;
    }
    const uint32_t shift = call->hbm->heap.granule_shift;
    call->demand.align_shift = shift;
    call->demand.size_bytes = program->block == HBM_POOL_NONE
                                  ? hbm_align_up(program->image_bytes, shift)
                                  : 0;
    call->demand.stack_bytes = call->image_only ? 0 : hbm_align_up(program->stack_bytes, shift);
    HBM_CHECK(call->demand.size_bytes <= call->hbm->options.capacity_bytes);
    HBM_CHECK(call->demand.stack_bytes <= call->hbm->options.capacity_bytes);
}

uint64_t hbm_call_stack_wanted(const struct hbm_call *call)
{
    const uint64_t reserved_bytes = hbm_heap_reserved(&call->hbm->heap);
    return call->demand.stack_bytes > reserved_bytes ? call->demand.stack_bytes : reserved_bytes;
}
