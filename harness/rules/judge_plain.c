#include "harness/rules/judge_plain.h"

#include "harness/base/often.h"
#include "harness/op/rounding.h"
#include "harness/rules/private/judge_host.h"
#include "harness/rules/private/judge_reported.h"

/* --- what is plain --- */

/* Nothing is to be taken in before the answer is. */
static bool is_taken_in(const struct judge *judge, const struct host *host)
{
    return judge->absorbed_counts[host->clock] == timeline_completed_count(host->timeline);
}

/* --- its answer --- */

/* What the rules on a granted range ask: those that take_block() has judged one by one. */
static bool is_sound_block(const struct host *host, const struct call *call, uint64_t align_bytes,
                           uint64_t promised_bytes)
{
    const struct target_block *block = &call->block;
    const uint64_t capacity = model_capacity_bytes(host->model);
    const uint64_t granule = host->contract.granule_bytes;
    return block->handle != 0 && block->size_bytes >= call->op.size_bytes &&
           block->size_bytes <= promised_bytes && block->size_bytes <= capacity &&
           block->address <= capacity - block->size_bytes &&
           block->address >= model_reserved_bytes(host->model) &&
           (block->address & (align_bytes - 1)) == 0 && (block->size_bytes & (granule - 1)) == 0;
}

static bool take_block(struct host *host, const struct call *call)
{
    const struct op *op = &call->op;
    const uint64_t granule = host->contract.granule_bytes;
    const uint64_t asked_align = (uint64_t)1 << op->align_log2;
    const uint64_t promised = rounding_bytes_max(&host->contract.rounding, granule, op->size_bytes);
    const struct model_new what = {
        .requested_bytes = op->size_bytes,
        .promised_bytes = promised,
        .align_bytes = asked_align > granule ? asked_align : granule,
        .kind = BLOCK_BUFFER,
        .tag = op->tag,
    };
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    if (op->size_bytes == 0 || !is_sound_block(host, call, what.align_bytes, promised) ||
        !model_add(host->model, &what, &call->block, &slot, &other)) {
        return false;
    }
    device_stamp(host->device, call->block.address, op->size_bytes, slot);
    return true;
}

static bool take_end(struct host *host, const struct call *call)
{
    if (!model_end_plain(host->model, call->slot)) {
        return false;
    }
    device_scrub(host->device, call->slot);
    return true;
}

/* True: every rule on the answer is kept, and the model has taken it in.  False: something else
 * happened, or a rule may be broken; nothing was changed, and the long road (judge_call.c) tells.
 */
static bool take_answer(const struct judge *judge, struct host *host, const struct call *call)
{
    if (!is_taken_in(judge, host) || !judge_keeps_host_memory(host)) {
        return false;
    }
    return call->op.kind == OP_ALLOC ? take_block(host, call) : take_end(host, call);
}

/* --- what it says of itself --- */

OFTEN enum judge_road judge_short(struct judge *judge, struct host *host, const struct call *call)
{
    struct target_stats *stats = &host->stats;
    if (!call->is_plain || !take_answer(judge, host, call)) {
        return JUDGE_ROAD_LONG;
    }
    judge_forget_answer(judge);
    judge->cost.calls = device_call_total(host->device);
    zero_often(stats, sizeof *stats); /* no lanes share the host: the target may write there */
    host->target->stats(host->instance, stats);
    if (device_hung(host->device) || !judge_counters_are_exact(judge, host, stats)) {
        return JUDGE_ROAD_REPORTS;
    }
    judge_narrow_peak(host, stats->peak_bytes_in_use);
    return JUDGE_ROAD_SHORT;
}
