#include "allocator/private/call.h"

#include "allocator/private/moves.h"

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

static bool is_item_evictable(const struct hbm_call *evicting, uint32_t number,
                              const struct hbm_block *block)
{
    return evicting != NULL && block->role == HBM_ROLE_PROGRAM && !block->dying &&
           hbm_call_may_evict(evicting, hbm_block_program(&evicting->hbm->heap, number));
}

bool hbm_snapshot(struct hbm *hbm, const struct hbm_call *evicting, struct hbm_plan *plan)
{
    const struct hbm_heap *heap = &hbm->heap;
    plan->items = NULL;
    plan->item_count = 0;
    plan->item_room = heap->used_count;
    plan->absent_bytes = 0;
    for (const struct hbm_stranded *stranded = hbm->stranded; stranded != NULL;
         stranded = stranded->next) {
        const struct hbm_block *block = hbm_heap_at(heap, stranded->block);
        plan->absent_bytes += block->address == HBM_ADDRESS_NONE ? block->size_bytes : 0;
    }
    if (heap->used_count != 0) {
        plan->items = hbm_host_array(&hbm->host, heap->used_count, sizeof *plan->items);
        if (plan->items == NULL) {
            return false;
        }
    }
    for (uint32_t number = hbm_heap_at(heap, heap->stack)->next; number != HBM_POOL_NONE;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        if (block->role != HBM_ROLE_HOLE && !is_item_evictable(evicting, number, block)) {
            HBM_CHECK(plan->item_count < plan->item_room);
            plan->items[plan->item_count++] = (struct hbm_item){
                .address = block->address,
                .target = block->address,
                .size_bytes = block->size_bytes,
                .block = number,
                .align_shift = block->align_shift,
                .movable = hbm_block_is_movable(block)};
        }
        number = block->next;
    }
    HBM_CHECK(plan->item_count <= plan->item_room);
    return true;
}

void hbm_snapshot_free(struct hbm *hbm, struct hbm_plan *plan)
{
    HBM_CHECK(plan->item_count <= plan->item_room);
    HBM_CHECK(plan->items != NULL || plan->item_count == 0);
    hbm_host_free(&hbm->host, plan->items, plan->item_room, sizeof *plan->items);
    plan->items = NULL;
}

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
