#include "allocator/private/heap.h"
#include "allocator/private/program.h"
#include "allocator/private/state.h"

static bool has_sound_stranded(const struct hbm *hbm)
{
    for (const struct hbm_stranded *stranded = hbm->stranded; stranded != NULL;
         stranded = stranded->next) {
        if (!hbm_block_is_stranded(hbm_heap_at(&hbm->heap, stranded->block))) {
            return false;
        }
    }
    return true;
}

static bool is_program_sound(const struct hbm *hbm, const struct hbm_program *program)
{
    if (program->next == NULL ? hbm->program_last != program : program->next->previous != program) {
        return false;
    }
    if (program->block == HBM_POOL_NONE) {
        return !program->unloading;
    }
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, program->block);
    return block->role == HBM_ROLE_PROGRAM &&
           hbm_block_program(&hbm->heap, program->block) == program &&
           block->dying == program->unloading;
}

static bool has_sound_programs(const struct hbm *hbm)
{
    for (const struct hbm_program *program = hbm->program_first; program != NULL;
         program = program->next) {
        if (!is_program_sound(hbm, program)) {
            return false;
        }
    }
    return hbm_heap_reserved(&hbm->heap) == hbm_stack_needed(hbm);
}

/* Every use names a used block, and the blocks' own counts add up to the same number. */
static bool has_sound_uses(const struct hbm *hbm, uint64_t use_sum)
{
    uint64_t count = 0;
    for (uint32_t number = hbm->pending.first; number != HBM_POOL_NONE;) {
        const struct hbm_event *event = hbm_pending_event(&hbm->pending, number);
        if (event->uses == HBM_POOL_NONE || hbm_pending_find(&hbm->pending, event->id) != event) {
            return false;
        }
        for (uint32_t use = event->uses; use != HBM_POOL_NONE; count++) {
            const struct hbm_use *record = hbm_pending_use(&hbm->pending, use);
            if (hbm_heap_at(&hbm->heap, record->block)->role < HBM_ROLE_BUFFER) {
                return false;
            }
            use = record->next;
        }
        number = event->next;
    }
    return count == use_sum && count == hbm_pool_used_count(&hbm->pending.uses);
}

/* True if the flags of a block agree with its cold record, and a dying one is held. */
static bool has_sound_flags(const struct hbm *hbm, uint32_t number, const struct hbm_block *block)
{
    const struct hbm_block_cold *cold = hbm_heap_cold(&hbm->heap, number);
    if (block->in_use && cold->use_count == 0) {
        return false;
    }
    if (block->described ? block->shaped != (cold->used.shape != HBM_POOL_NONE) : block->shaped) {
        return false;
    }
    return !block->dying || hbm_block_is_held(block);
}

static bool has_sound_blocks(const struct hbm *hbm)
{
    uint64_t bytes = 0, count = 0, use_sum = 0, dying = 0;
    const struct hbm_stranded *absent = hbm_stranded_absent(hbm, hbm->stranded);
    for (; absent != NULL; absent = hbm_stranded_absent(hbm, absent->next)) {
        const struct hbm_block *block = hbm_heap_at(&hbm->heap, absent->block);
        count++;
        bytes += block->size_bytes;
        use_sum += hbm_block_use_count(&hbm->heap, absent->block);
        dying += block->dying;
    }
    uint32_t number = hbm_heap_at(&hbm->heap, hbm->heap.stack)->next;
    for (uint32_t next; number != HBM_POOL_NONE; number = next) {
        const struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
        next = block->next;
        if (block->role == HBM_ROLE_HOLE) {
            continue;
        }
        count++;
        bytes += block->size_bytes;
        use_sum += hbm_block_use_count(&hbm->heap, number);
        dying += block->dying;
        if (!has_sound_flags(hbm, number, block)) {
            return false;
        }
    }
    return count == hbm->heap.used_count && bytes == hbm->heap.used_bytes &&
           dying == hbm->dying_count && has_sound_uses(hbm, use_sum);
}

bool hbm_invariants_hold(const struct hbm *hbm)
{
    struct hbm *locked = (struct hbm *)(uintptr_t)hbm;
    hbm_lock_take(&locked->lock);
    const bool hold = hbm_heap_invariants_hold(&hbm->heap) && has_sound_blocks(hbm) &&
                      has_sound_stranded(hbm) && has_sound_programs(hbm) &&
                      hbm->heap.used_bytes + hbm_heap_reserved(&hbm->heap) <=
                          hbm->options.capacity_bytes;
    hbm_lock_give(&locked->lock);
    return hold;
}
