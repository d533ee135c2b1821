#include "allocator/private/life.h"

#include "allocator/private/check.h"
#include "allocator/private/heap.h"
#include "allocator/private/program.h"

/* ---- ends of blocks ---- */

static void end_block(struct hbm *hbm, uint32_t number)
{
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    HBM_CHECK(!hbm_block_is_held(block));
    struct hbm_program *program = hbm_block_program(&hbm->heap, number);
    hbm->room_count++;
    if (block->shaped) {
        hbm_shapes_give(&hbm->shapes, hbm_heap_cold(&hbm->heap, number)->used.shape);
    }
    if (block->dying) {
        HBM_CHECK(hbm->dying_count != 0);
        hbm->dying_count--;
    }
    if (hbm_block_is_stranded(block)) {
        hbm_stranded_drop(hbm, number);
    }
    if (block->address == HBM_ADDRESS_NONE) {
        hbm_heap_stranded_give(&hbm->heap, number);
    } else {
        hbm_heap_give(&hbm->heap, number);
    }
    if (program == NULL) {
        return;
    }
    HBM_CHECK(program->block == number);
    program->block = HBM_POOL_NONE;
    if (program->unloading) {
        hbm_program_destroy(hbm, program);
    }
}

void hbm_block_free(struct hbm *hbm, uint32_t number)
{
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    HBM_CHECK(!block->dying);
    HBM_CHECK(block->role >= HBM_ROLE_BUFFER);
    if (!hbm_block_is_held(block)) {
        end_block(hbm, number);
        return;
    }
    block->dying = true;
    hbm_heap_cold(&hbm->heap, number)->dying_order = hbm->dying_order++;
    hbm->dying_count++;
}

void hbm_block_settle(struct hbm *hbm, uint32_t number)
{
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    HBM_CHECK(!block->dying || hbm->dying_count != 0);
    HBM_CHECK(block->role >= HBM_ROLE_BUFFER);
    if (block->dying && !hbm_block_is_held(block)) {
        end_block(hbm, number);
    }
}

/* ---- completed events ---- */

static void finish_event(struct hbm *hbm, uint32_t number)
{
    uint32_t use = hbm_pending_remove(&hbm->pending, number);
    HBM_CHECK(use != HBM_POOL_NONE);
    while (use != HBM_POOL_NONE) {
        const uint32_t block_number = hbm_pending_use(&hbm->pending, use)->block;
        hbm_block_unuse(&hbm->heap, block_number);
        use = hbm_pending_use_end(&hbm->pending, use);
        hbm_block_settle(hbm, block_number);
    }
}

static void poll_events(struct hbm *hbm)
{
    HBM_CHECK(hbm->pending.first != HBM_POOL_NONE);
    const struct hbm_services *services = &hbm->host.services;
    uint32_t next;
    for (uint32_t number = hbm->pending.first; number != HBM_POOL_NONE; number = next) {
        const struct hbm_event *event = hbm_pending_event(&hbm->pending, number);
        next = event->next;
        if (services->event_done(services->context, event->id)) {
            finish_event(hbm, number);
        }
    }
    HBM_CHECK(hbm->pending.first != HBM_POOL_NONE || hbm_pool_used_count(&hbm->pending.uses) == 0);
    hbm_pending_trim(&hbm->pending);
    hbm_stack_settle(hbm);
}

void hbm_collect_completed(struct hbm *hbm)
{
    HBM_CHECK(hbm->pending.first != HBM_POOL_NONE);
    const struct hbm_services *services = &hbm->host.services;
    const uint64_t completed = services->completed_count(services->context);
    if (completed == hbm->pending.completed_seen && !hbm->pending.poll_due) {
        return;
    }
    hbm->pending.completed_seen = completed;
    hbm->pending.poll_due = false;
    poll_events(hbm);
}
