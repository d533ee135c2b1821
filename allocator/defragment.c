#include "allocator/private/call.h"
#include "allocator/private/heap.h"
#include "allocator/private/moves.h"
#include "allocator/private/state.h"

static enum hbm_result defragment_with_lock(struct hbm *hbm)
{
    struct hbm_plan plan = {
        .capacity_bytes = hbm->options.capacity_bytes,
        .granule_shift = hbm->heap.granule_shift,
        .demand = {.stack_bytes = hbm_heap_reserved(&hbm->heap)},
        .host = &hbm->host,
    };
    if (!hbm_snapshot(hbm, NULL, &plan)) {
        return hbm_fail_unavailable(hbm, "no host memory to plan in");
    }
    HBM_CHECK(plan.item_count <= hbm->heap.used_count);
    hbm_plan_compact(&plan, hbm->options.defrag == HBM_DEFRAG_REPACK);
    const bool done = !plan.host_refused && hbm_moves_run(hbm, &plan);
    HBM_CHECK(!done || !plan.host_refused);
    hbm_snapshot_free(hbm, &plan);
    HBM_CHECK_COSTLY(hbm_heap_invariants_hold(&hbm->heap));
    return done ? HBM_OK : hbm_fail_unavailable(hbm, "a service refused a move");
}

enum hbm_result hbm_defragment(struct hbm *hbm)
{
    if (hbm->options.defrag == HBM_DEFRAG_NONE) {
        return hbm_fail_invalid(hbm, "the contract is that nothing moves");
    }
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    const enum hbm_result result = defragment_with_lock(hbm);
    hbm_lock_give(&hbm->lock);
    return result;
}
