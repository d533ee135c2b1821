#include "harness/rules/private/judge_device.h"

#include "harness/rules/judge_completions.h"
#include "harness/rules/judge_request.h"
#include "harness/rules/private/judge_contents.h"
#include "harness/rules/private/judge_held_back.h"
#include "harness/rules/private/judge_log.h"
#include "harness/rules/private/judge_order.h"
#include "harness/rules/private/judge_place.h"
#include "harness/rules/private/judge_regions.h"
#include "harness/rules/private/judge_spending.h"
#include "harness/rules/private/rules.h"

/* --- copies and stages --- */

/* The target says that the block is at another address than before. */
static bool is_elsewhere(const struct judge *judge, const struct host *host,
                         const struct call *call, uint32_t slot)
{
    struct target_block at;
    return judge_find_place(judge, host, call, slot, &at) == PLACE_DEVICE &&
           at.address != model_block(host->model, slot)->address;
}

/* A block that is in use when it is copied away is moved while in use, even if the use ends before
 * the call returns. */
static bool check_source(const struct evidence *copy)
{
    struct span span;
    struct evidence evidence = *copy;
    const uint64_t end = copy->made->from + copy->made->bytes;
    for (uint64_t at = copy->made->from;
         span_map_intersects(model_map(copy->host->model), at, end, &span); at = span.end) {
        evidence.slot = (uint32_t)span.owner;
        if (!block_is_movable(evidence_block(&evidence)) &&
            is_elsewhere(copy->judge, copy->host, copy->call, evidence.slot) &&
            !rule_judge(RULE_HELD_MOVED, &evidence)) {
            return false;
        }
    }
    return true;
}

/* --- evictions --- */

static bool take_unload(struct judge *judge, struct host *host, const struct call *call,
                        const struct device_call *unload)
{
    const uint32_t slot = judge_unloaded_slot(host, unload);
    const bool may_evict = judge_may_evict(host, &call->op) && slot != call->slot;
    if (!judge_eviction(judge, host, unload, may_evict)) {
        return false;
    }
    /* Half an image is of no use, but the program is gone only when all of it is. */
    if (unload->result == DEVICE_PARTIAL) {
        return true;
    }
    judge->spent.evicted_count++;
    judge->spent.evicted_bytes += model_block(host->model, slot)->size_bytes;
    model_evict(host->model, slot);
    judge_clear_gone(host);
    return true;
}

/* --- the log --- */

static bool absorb_device_call(struct judge *judge, struct host *host, const struct call *call,
                               const struct device_call *made, bool *moved)
{
    const struct evidence copy = {
        .judge = judge, .host = host, .call = call, .made = made, .sight = SIGHT_COPY};
    switch (made->kind) {
    case DEVICE_CALL_UNLOAD:
        judge_begin_spending(judge, host, call);
        return take_unload(judge, host, call, made);
    case DEVICE_CALL_STAGE_OUT:
        judge_begin_spending(judge, host, call);
        judge->spent.moved_bytes += made->bytes;
        *moved = true;
        return check_source(&copy);
    case DEVICE_CALL_STAGE_IN:
        *moved = true;
        return judge_written(&copy, NULL);
    case DEVICE_CALL_COPY:
        judge_begin_spending(judge, host, call);
        judge->spent.moved_bytes += made->bytes;
        *moved = true;
        return judge_written(&copy, NULL) && check_source(&copy);
    case DEVICE_CALL_REGION_GIVE:
        return judge_region_given(judge, host, call, made);
    default:
        return true;
    }
}

bool judge_device_calls(struct judge *judge, struct host *host, const struct call *call,
                        bool *moved)
{
    size_t count = 0;
    (void)device_calls(host->device, &count);
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i++) {
        /* A free that was kept back until now may add to the log, which may move. */
        size_t now_count = 0;
        const struct device_call *calls = device_calls(host->device, &now_count);
        const struct device_call made = calls[i];
        const uint64_t after = i + 1 < count ? calls[i + 1].completed_before
                                             : timeline_completed_count(host->timeline);
        judge_absorb_until(judge, host, made.completed_before);
        if (made.result != DEVICE_OK && made.result != DEVICE_PARTIAL) {
            continue;
        }
        is_good = judge_order(judge, host, call, &made, after, *moved) &&
                  judge_held_back(judge, host, call, &made, *moved) &&
                  absorb_device_call(judge, host, call, &made, moved);
    }
    if (is_good && call->result == TARGET_NO_MEMORY) {
        judge_absorb_until(judge, host, device_seen_count(host->device));
    } else if (is_good) {
        judge_absorb(judge, host);
    }
    return judge_bounds(judge, host) && is_good && judge_regions(judge, host, call);
}
