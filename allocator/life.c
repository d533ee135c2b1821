#include "allocator/private/state.h"

#include "allocator/private/call.h"
#include "allocator/private/heap.h"
#include "allocator/private/moves.h"
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

const struct hbm_stranded *hbm_stranded_absent(const struct hbm *hbm,
                                               const struct hbm_stranded *stranded)
{
    while (stranded != NULL &&
           hbm_heap_at(&hbm->heap, stranded->block)->address != HBM_ADDRESS_NONE) {
        stranded = stranded->next;
    }
    return stranded;
}

void hbm_stranded_drop(struct hbm *hbm, uint32_t number)
{
    HBM_CHECK(hbm->stranded != NULL);
    struct hbm_stranded **link = &hbm->stranded;
    while ((*link)->block != number) {
        HBM_CHECK((*link)->next != NULL);
        link = &(*link)->next;
    }
    struct hbm_stranded *found = *link;
    *link = found->next;
    hbm->return_refused = hbm->return_refused && hbm->stranded != NULL;
    hbm->host.services.stage_drop(hbm->host.services.context, found->token);
    hbm_host_free(&hbm->host, found, 1, sizeof *found);
}

/* Brings all back that have a range and are granted.  The block number of the first that has none;
 * 0: each has. */
static uint32_t return_all_stranded(struct hbm *hbm)
{
    uint32_t lacking = HBM_POOL_NONE;
    for (struct hbm_stranded **link = &hbm->stranded; *link != NULL;) {
        struct hbm_stranded *stranded = *link;
        struct hbm_block *block = hbm_heap_at(&hbm->heap, stranded->block);
        HBM_CHECK(hbm_block_is_stranded(block));
        const bool has_range = block->address != HBM_ADDRESS_NONE ||
                               hbm_heap_return(&hbm->heap, stranded->block);
        if (has_range && hbm_resume_stage_in(&hbm->host.services, stranded->token, block->address,
                                             block->size_bytes)) {
            HBM_CHECK(block->address != HBM_ADDRESS_NONE);
            block->place = HBM_PLACE_DEVICE;
            *link = stranded->next;
            hbm_host_free(&hbm->host, stranded, 1, sizeof *stranded);
            continue;
        }
        hbm->return_refused |= has_range;
        if (!has_range && lacking == HBM_POOL_NONE) {
            lacking = stranded->block;
        }
        link = &stranded->next;
    }
    return lacking;
}

void hbm_stranded_retry(struct hbm *hbm)
{
    HBM_CHECK(hbm->stranded != NULL);
    hbm->return_refused = false;
    const uint32_t lacking = return_all_stranded(hbm);
    if (lacking == HBM_POOL_NONE) {
        return;
    }
    HBM_CHECK(hbm_heap_at(&hbm->heap, lacking)->address == HBM_ADDRESS_NONE);
    const enum hbm_result result = hbm_room_make(hbm, lacking);
    hbm->return_refused |= result == HBM_UNAVAILABLE;
    if (result == HBM_OK) {
        (void)return_all_stranded(hbm);
    }
}

void hbm_stranded_drop_all(struct hbm *hbm)
{
    const struct hbm_services *services = &hbm->host.services;
    while (hbm->stranded != NULL) {
        struct hbm_stranded *stranded = hbm->stranded;
        HBM_CHECK(stranded->block != HBM_POOL_NONE);
        HBM_CHECK(hbm_block_is_stranded(hbm_heap_at(&hbm->heap, stranded->block)));
        hbm->stranded = stranded->next;
        services->stage_drop(services->context, stranded->token);
        hbm_host_free(&hbm->host, stranded, 1, sizeof *stranded);
    }
}
