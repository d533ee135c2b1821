#include "allocator/private/room.h"

#include "allocator/private/check.h"
#include "allocator/private/moves.h"
#include "allocator/private/snapshot.h"

bool hbm_room_begin(struct hbm_call *call, bool without_idle, struct hbm_plan *plan)
{
    const struct hbm *hbm = call->hbm;
    hbm_call_refresh(call);
    *plan = (struct hbm_plan){
        .capacity_bytes = hbm->options.capacity_bytes,
        .granule_shift = hbm->heap.granule_shift,
        .demand = call->demand,
        .search_nodes_max = hbm->options.search_nodes_max,
        .host = &call->hbm->host,
    };
    plan->demand.stack_bytes = hbm_call_stack_wanted(call);
    HBM_CHECK(plan->demand.stack_bytes >= hbm_heap_reserved(&hbm->heap));
    if (hbm_snapshot(call->hbm, without_idle ? call : NULL, plan)) {
        HBM_CHECK(plan->item_count <= plan->item_room);
        return true;
    }
    call->refused = true;
    return false;
}

bool hbm_call_may_fit(struct hbm_call *call)
{
    hbm_call_refresh(call);
    const struct hbm_heap *heap = &call->hbm->heap;
    const uint64_t stack_bytes = hbm_call_stack_wanted(call);
    HBM_CHECK(heap->used_bytes <= heap->capacity_bytes);
    const uint64_t room_bytes = heap->capacity_bytes - heap->used_bytes;
    return stack_bytes <= room_bytes && call->demand.size_bytes <= room_bytes - stack_bytes;
}

/* The sizes alone rule most hopeless demands out before anything is planned. */
static bool may_fit_by_sums(const struct hbm_plan *plan)
{
    uint64_t room = plan->capacity_bytes - plan->demand.stack_bytes;
    if (plan->demand.stack_bytes > plan->capacity_bytes || plan->demand.size_bytes > room) {
        return false;
    }
    room -= plan->demand.size_bytes;
    if (plan->absent_bytes > room) {
        return false;
    }
    room -= plan->absent_bytes;
    for (size_t i = 0; i < plan->item_count; i++) {
        if (plan->items[i].size_bytes > room) {
            return false;
        }
        room -= plan->items[i].size_bytes;
    }
    return true;
}

bool hbm_room_plan(const struct hbm *hbm, struct hbm_plan *plan)
{
    const enum hbm_defrag defrag = hbm->options.defrag;
    if (defrag == HBM_DEFRAG_NONE || !may_fit_by_sums(plan)) {
        return false;
    }
    return hbm_plan_slide(plan) || (defrag == HBM_DEFRAG_REPACK && hbm_plan_repack(plan));
}

bool hbm_call_could_fit(struct hbm_call *call, bool without_idle)
{
    HBM_CHECK(call->serial <= call->hbm->call_count);
    struct hbm_plan plan;
    if (!hbm_room_begin(call, without_idle, &plan)) {
        return false;
    }
    const bool fits = may_fit_by_sums(&plan) &&
                      (hbm_plan_direct(&plan) || hbm_room_plan(call->hbm, &plan));
    HBM_CHECK(!fits || plan.demand.size_bytes <= plan.capacity_bytes);
    call->refused |= plan.host_refused;
    hbm_snapshot_free(call->hbm, &plan);
    return fits;
}

enum hbm_result hbm_room_make(struct hbm *hbm, uint32_t number)
{
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    HBM_CHECK(hbm_block_is_stranded(block));
    struct hbm_call call = {
        .hbm = hbm, .demand = {.size_bytes = block->size_bytes, .align_shift = block->align_shift}};
    struct hbm_plan plan;
    if (!hbm_room_begin(&call, false, &plan)) {
        return HBM_UNAVAILABLE;
    }
    HBM_CHECK(plan.absent_bytes >= block->size_bytes);
    plan.absent_bytes -= block->size_bytes;
    enum hbm_result result = HBM_NO_MEMORY;
    if (hbm_room_plan(hbm, &plan)) {
        result = hbm_moves_run(hbm, &plan) ? HBM_OK : HBM_UNAVAILABLE;
    } else if (plan.host_refused) {
        result = HBM_UNAVAILABLE;
    }
    hbm_snapshot_free(hbm, &plan);
    return result;
}
