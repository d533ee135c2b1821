#include "harness/rules/private/judge_place.h"

bool judge_ended_handle(const struct call *call, uint32_t slot)
{
    const uint8_t kind = call->op.kind;
    return slot == call->slot && call->result == TARGET_OK &&
           (kind == OP_FREE || kind == OP_FREE_AFTER || kind == OP_UNLOAD);
}

/* By which the target can be asked where the block is; 0 = by none. */
static uint64_t find_handle(const struct host *host, const struct call *call, uint32_t slot)
{
    const struct block *block = model_block(host->model, slot);
    if (!block->is_known || host->target->locate == NULL || host->contract.header_bytes > 0 ||
        host->contract.placement != PLACEMENT_RANGES || judge_ended_handle(call, slot)) {
        return 0;
    }
    const bool is_donated = slot == call->slot && call->op.kind == OP_DONATE &&
                            call->result == TARGET_OK;
    return is_donated ? call->block.handle : block->handle;
}

/* For a block of which the target cannot be asked: it goes where its bytes go. */
static enum place follow_bytes(const struct judge *judge, const struct host *host,
                               const struct call *call, uint32_t slot, uint64_t *address)
{
    const struct block *block = model_block(host->model, slot);
    bool is_absent = block->is_absent;
    /* While calls overlapped, stages were followed one by one, and whose they were by their bytes
     * was not known yet.  No single call ended the block: it is absent. */
    if (judge->is_overlapping && device_has_staged(host->device, slot, block->requested_bytes)) {
        return PLACE_HOST;
    }
    size_t count = 0;
    const struct device_call *made = device_calls(host->device, &count);
    *address = block->address;
    for (size_t i = 0; i < count; i++) {
        const bool is_back = made[i].kind == DEVICE_CALL_STAGE_IN && made[i].owner == slot;
        const bool is_copied = made[i].kind == DEVICE_CALL_COPY && !is_absent &&
                               made[i].from == *address;
        /* Dying before this op, it may come back, but then stays. */
        if (made[i].result == DEVICE_OK &&
            (is_back || (is_copied && judge_ended_handle(call, slot)))) {
            *address = made[i].to;
            is_absent = false;
        }
    }
    if (!is_absent && (!judge_ended_handle(call, slot) ||
                       device_holds(host->device, *address, block->requested_bytes, slot))) {
        return PLACE_DEVICE;
    }
    return device_has_staged(host->device, slot, block->requested_bytes) ? PLACE_HOST
           : is_absent                                                   ? PLACE_NONE
                                                                         : PLACE_DEVICE;
}

enum place judge_find_place(const struct judge *judge, const struct host *host,
                            const struct call *call, uint32_t slot, struct target_block *at)
{
    const struct block *block = model_block(host->model, slot);
    const uint64_t handle = find_handle(host, call, slot);
    *at = (struct target_block){0};
    if (handle != 0 && host->target->locate(host->instance, handle, at) == TARGET_OK) {
        return PLACE_DEVICE;
    }
    at->size_bytes = 0;
    if (handle != 0 && host->contract.defrag != DEFRAG_NONE) {
        return device_has_staged(host->device, slot, block->requested_bytes) ? PLACE_HOST
                                                                             : PLACE_NONE;
    }
    if (block->is_absent || judge_ended_handle(call, slot)) {
        return follow_bytes(judge, host, call, slot, &at->address);
    }
    at->address = block->address;
    return PLACE_DEVICE;
}
