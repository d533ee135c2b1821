/* Turns an op as it was chosen into the op that is recorded: nothing in it depends on the state any
 * more. */
#include "harness/base/align.h"
#include "harness/call/driver.h"
#include "harness/device/timeline.h"
#include "harness/model/model.h"
#include "harness/op/fit.h"

static uint32_t resolve_ref(const struct model *model, const struct op_kind_info *info,
                            uint32_t ref)
{
    const size_t count = info->has_program     ? model_program_count(model)
                         : info->has_recording ? model_recording_count(model)
                                               : model_live_count(model);
    if (count == 0 || ref == OP_NONE) {
        return OP_NONE;
    }
    return info->has_program     ? model_program(model, ref % count)->op
           : info->has_recording ? model_recording(model, ref % count)
                                 : model_live(model, ref % count)->op;
}

/* Sets the op's range to what is free at or above its address, or otherwise from the bottom on, cut
 * to the size asked for; size 0 when nothing is free. */
static void resolve_range(const struct model *model, struct op *op)
{
    const uint64_t granule = model_granule_bytes(model);
    const uint64_t address = align_down(op->address % model_capacity_bytes(model), granule);
    const uint64_t size = op->size_bytes < granule ? granule : align_down(op->size_bytes, granule);
    uint64_t end = 0;
    if (!model_free_range(model, address, &op->address, &end)) {
        op->size_bytes = 0;
        return;
    }
    op->size_bytes = size < end - op->address ? size : end - op->address;
}

/* Makes any bytes a fault that its text can say. */
static void resolve_fault(struct op *op)
{
    op->tag %= FAULT_KIND_COUNT;
    op->flags &= OP_FOR_EVER;
    op->size_bytes = op->size_bytes > UINT32_MAX ? UINT32_MAX : op->size_bytes;
}

void driver_resolve(const struct host *host, struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    if (info->has_point) {
        return;
    }
    if ((op->flags & OP_RELATIVE) != 0) {
        op->ref = resolve_ref(host->model, info, op->ref);
        const size_t count = timeline_pending_count(host->timeline);
        if (op->event != OP_NONE) {
            op->event = count == 0
                            ? OP_NONE
                            : (uint32_t)(timeline_pending_at(host->timeline, op->event % count) -
                                         1);
        }
    }
    if ((op->flags & OP_FITTED) != 0 && info->can_be_fitted) {
        const struct fit fit = fit_unpack(op->size_bytes);
        op->size_bytes = fit_bytes(&fit, host->model);
    }
    if (op->kind == OP_FAULT) {
        resolve_fault(op);
    } else if (op->kind == OP_RETIRE && (op->flags & OP_RELATIVE) != 0) {
        resolve_range(host->model, op);
    }
    op->flags &= op->kind == OP_FAULT ? OP_FOR_EVER
                                      : OP_FLAG_MASK & ~(OP_RELATIVE | OP_FITTED | OP_FOR_EVER);
    op->flags &= (uint8_t) ~(info->can_be_refused ? 0 : OP_RETRY);
    op->align_log2 = op->align_log2 <= OP_ALIGN_LOG2_MAX ? op->align_log2 : 0;
    op_clear_unused(op);
}
