#include <string.h>

#include "allocator/private/check.h"
#include "allocator/private/state.h"

/* ---- ends of blocks ---- */

static void stranded_drop(struct hbm *hbm, uint32_t number)
{
    struct hbm_stranded **link = &hbm->stranded;
    while ((*link)->block != number) {
        link = &(*link)->next;
    }
    struct hbm_stranded *found = *link;
    *link = found->next;
    hbm->host.services.stage_drop(hbm->host.services.context, found->token);
    hbm_host_free(&hbm->host, found, 1, sizeof *found);
}

static void block_end(struct hbm *hbm, uint32_t number)
{
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    struct hbm_program *program = block->role == HBM_ROLE_PROGRAM ? block->used.program : NULL;
    hbm->room_count++;
    if (block->used.shape != HBM_POOL_NONE) {
        hbm_shapes_give(&hbm->shapes, block->used.shape);
    }
    if (block->dying) {
        hbm->dying_count--;
    }
    if (hbm_block_is_stranded(block)) {
        stranded_drop(hbm, number);
    }
    if (block->address == HBM_ADDRESS_NONE) {
        hbm_heap_stranded_give(&hbm->heap, number);
    } else {
        hbm_heap_give(&hbm->heap, number);
    }
    if (program == NULL) {
        return;
    }
    program->block = HBM_POOL_NONE;
    if (program->unloading) {
        hbm_program_destroy(hbm, program);
    }
}

void hbm_block_free(struct hbm *hbm, uint32_t number)
{
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    if (block->used.use_count == 0 && block->used.hold_count == 0) {
        block_end(hbm, number);
        return;
    }
    block->dying = true;
    block->dying_order = hbm->dying_order++;
    hbm->dying_count++;
}

void hbm_block_settle(struct hbm *hbm, uint32_t number)
{
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    if (block->dying && block->used.use_count == 0 && block->used.hold_count == 0) {
        block_end(hbm, number);
    }
}

/* ---- completed events ---- */

static void event_finish(struct hbm *hbm, uint32_t number)
{
    uint32_t use = hbm_pending_remove(&hbm->pending, number);
    while (use != HBM_POOL_NONE) {
        uint32_t block_number = hbm_pending_use(&hbm->pending, use)->block;
        struct hbm_block *block = hbm_heap_at(&hbm->heap, block_number);
        HBM_CHECK(block->used.use_count != 0);
        block->used.use_count--;
        use = hbm_pending_use_end(&hbm->pending, use);
        hbm_block_settle(hbm, block_number);
    }
}

static void events_poll(struct hbm *hbm)
{
    const struct hbm_services *services = &hbm->host.services;
    uint32_t next;
    for (uint32_t number = hbm->pending.first; number != HBM_POOL_NONE; number = next) {
        const struct hbm_event *event = hbm_pending_event(&hbm->pending, number);
        next = event->next;
        if (services->event_done(services->context, event->id)) {
            event_finish(hbm, number);
        }
    }
    hbm_pending_trim(&hbm->pending);
    hbm_stack_settle(hbm);
}

void hbm_collect_completed(struct hbm *hbm)
{
    const struct hbm_services *services = &hbm->host.services;
    uint64_t completed = services->completed_count(services->context);
    if (completed == hbm->pending.completed_seen && !hbm->pending.poll_due) {
        return;
    }
    hbm->pending.completed_seen = completed;
    hbm->pending.poll_due = false;
    events_poll(hbm);
}

/* ---- stranded blocks ---- */

/* Brings all back that have a range and are granted.  The block number of the first that has none;
 * 0: each has. */
static uint32_t stranded_all_return(struct hbm *hbm)
{
    uint32_t lacking = HBM_POOL_NONE;
    for (struct hbm_stranded **link = &hbm->stranded; *link != NULL;) {
        struct hbm_stranded *stranded = *link;
        struct hbm_block *block = hbm_heap_at(&hbm->heap, stranded->block);
        bool has_range = block->address != HBM_ADDRESS_NONE ||
                         hbm_heap_return(&hbm->heap, stranded->block);
        if (has_range && hbm_resume_stage_in(&hbm->host.services, stranded->token, block->address,
                                             block->size_bytes)) {
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
    uint32_t lacking = stranded_all_return(hbm);
    if (lacking == HBM_POOL_NONE) {
        return;
    }
    enum hbm_result result = hbm_room_make(hbm, lacking);
    hbm->return_refused |= result == HBM_UNAVAILABLE;
    if (result == HBM_OK) {
        (void)stranded_all_return(hbm);
    }
}

/* ---- sums ---- */

uint64_t hbm_stack_needed(const struct hbm *hbm)
{
    uint64_t needed_bytes = 0;
    for (const struct hbm_program *program = hbm->program_first; program != NULL;
         program = program->next) {
        if (program->block == HBM_POOL_NONE || program->stack_bytes <= needed_bytes) {
            continue;
        }
        if (hbm_heap_at(&hbm->heap, program->block)->used.use_count != 0) {
            needed_bytes = program->stack_bytes;
        }
    }
    return hbm_align_up(needed_bytes, hbm->heap.granule_shift);
}

void hbm_peaks_note(struct hbm *hbm)
{
    uint64_t reserved_bytes = hbm_heap_reserved(&hbm->heap);
    if (hbm->heap.used_bytes > hbm->totals.peak_bytes_in_use) {
        hbm->totals.peak_bytes_in_use = hbm->heap.used_bytes;
    }
    if (reserved_bytes > hbm->totals.peak_bytes_reserved) {
        hbm->totals.peak_bytes_reserved = reserved_bytes;
    }
}

uint64_t hbm_reservable(const struct hbm *hbm)
{
    uint64_t movable_bytes = 0;
    bool fixed = hbm->options.defrag == HBM_DEFRAG_NONE;
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, hbm->heap.stack);
    while (block->next != HBM_POOL_NONE) {
        block = hbm_heap_at(&hbm->heap, block->next);
        if (block->role == HBM_ROLE_HOLE) {
            continue;
        }
        if (fixed || !hbm_block_is_movable(block)) {
            return block->address - movable_bytes;
        }
        movable_bytes += block->size_bytes;
    }
    return hbm->options.capacity_bytes - movable_bytes;
}
