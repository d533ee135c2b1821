#include "allocator/private/snapshot.h"

#include "allocator/private/check.h"

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
