#include "allocator/hbm.h"

#include <string.h>

#include "allocator/private/check.h"
#include "allocator/private/state.h"

/* ---- create and destroy ---- */

static bool services_are_complete(const struct hbm_services *services)
{
    return services->copy != NULL && services->stage_out != NULL && services->stage_in != NULL &&
           services->stage_drop != NULL && services->completed_count != NULL &&
           services->event_done != NULL && services->event_wait != NULL &&
           services->unload != NULL && services->clock_ns != NULL && services->host_alloc != NULL &&
           services->host_free != NULL;
}

static bool order_is_permutation(const enum hbm_mitigation *order)
{
    unsigned seen = 0;
    for (int i = 0; i < HBM_MITIGATION_COUNT; i++) {
        if ((unsigned)order[i] >= HBM_MITIGATION_COUNT) {
            return false;
        }
        seen |= 1u << order[i];
    }
    return seen == (1u << HBM_MITIGATION_COUNT) - 1u;
}

/* 0 when the options name no valid capacity. */
static uint64_t capacity_of(const struct hbm_options *options)
{
    uint64_t mask = options->granule_bytes - 1u;
    if (options->chip != HBM_CHIP_NONE) {
        const struct hbm_chip_description *chip = hbm_chip_describe(options->chip);
        return chip == NULL || options->capacity_bytes != 0 ? 0 : chip->usable_bytes & ~mask;
    }
    if ((options->capacity_bytes & mask) != 0 || options->capacity_bytes > HBM_SIZE_BYTES_MAX) {
        return 0;
    }
    return options->capacity_bytes;
}

static bool options_are_valid(const struct hbm_options *options)
{
    uint32_t granule = options->granule_bytes;
    if (granule == 0 || (granule & (granule - 1)) != 0 || granule > HBM_GRANULE_BYTES_MAX) {
        return false;
    }
    if (options->log_allocations_on_oom && options->sink.line == NULL) {
        return false;
    }
    return capacity_of(options) != 0 && options->defrag <= HBM_DEFRAG_REPACK &&
           order_is_permutation(options->order);
}

static bool parts_init(struct hbm *hbm)
{
    uint32_t granule_shift = (uint32_t)__builtin_ctz(hbm->options.granule_bytes);
    if (!hbm_heap_init(&hbm->heap, &hbm->host, hbm->options.capacity_bytes, granule_shift)) {
        return false;
    }
    if (hbm_pending_init(&hbm->pending, &hbm->host)) {
        if (hbm_shapes_init(&hbm->shapes, &hbm->host)) {
            return true;
        }
        hbm_pending_deinit(&hbm->pending);
    }
    hbm_heap_deinit(&hbm->heap);
    return false;
}

enum hbm_result hbm_create(const struct hbm_services *services, const struct hbm_options *options,
                           struct hbm **out)
{
    if (!services_are_complete(services) || !options_are_valid(options)) {
        return HBM_INVALID;
    }
    struct hbm_host host = {.services = *services};
    struct hbm *hbm = hbm_host_array(&host, 1, sizeof *hbm);
    if (hbm == NULL) {
        return HBM_UNAVAILABLE;
    }
    memset(hbm, 0, sizeof *hbm);
    hbm->host = host;
    hbm->options = *options;
    hbm->options.capacity_bytes = capacity_of(options);
    hbm->totals.bytes_reservable_limit = hbm->options.capacity_bytes;
    if (!parts_init(hbm)) {
        services->host_free(services->context, hbm, sizeof *hbm);
        return HBM_UNAVAILABLE;
    }
    *out = hbm;
    return HBM_OK;
}

static void stranded_all_drop(struct hbm *hbm)
{
    const struct hbm_services *services = &hbm->host.services;
    while (hbm->stranded != NULL) {
        struct hbm_stranded *stranded = hbm->stranded;
        hbm->stranded = stranded->next;
        services->stage_drop(services->context, stranded->token);
        hbm_host_free(&hbm->host, stranded, 1, sizeof *stranded);
    }
}

void hbm_destroy(struct hbm *hbm)
{
    if (hbm == NULL) {
        return;
    }
    struct hbm_services services = hbm->host.services;
    stranded_all_drop(hbm);
    while (hbm->program_first != NULL) {
        hbm_program_destroy(hbm, hbm->program_first);
    }
    hbm_shapes_deinit(&hbm->shapes);
    hbm_pending_deinit(&hbm->pending);
    hbm_heap_deinit(&hbm->heap);
    HBM_CHECK(hbm->host.bytes == sizeof *hbm);
    services.host_free(services.context, hbm, sizeof *hbm);
}

/* ---- defragment ---- */

static enum hbm_result defragment_locked(struct hbm *hbm)
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
    hbm_plan_compact(&plan, hbm->options.defrag == HBM_DEFRAG_REPACK);
    bool done = !plan.host_refused && hbm_moves_run(hbm, &plan);
    hbm_snapshot_free(hbm, &plan);
    return done ? HBM_OK : hbm_fail_unavailable(hbm, "a service refused a move");
}

enum hbm_result hbm_defragment(struct hbm *hbm)
{
    if (hbm->options.defrag == HBM_DEFRAG_NONE) {
        return hbm_fail_invalid(hbm, "the contract is that nothing moves");
    }
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    enum hbm_result result = defragment_locked(hbm);
    hbm_lock_give(&hbm->lock);
    return result;
}

/* ---- memory that goes bad ---- */

/* The next stranded block that has no range, from `stranded` on. */
static const struct hbm_stranded *absent_next(const struct hbm *hbm,
                                              const struct hbm_stranded *stranded)
{
    while (stranded != NULL &&
           hbm_heap_at(&hbm->heap, stranded->block)->address != HBM_ADDRESS_NONE) {
        stranded = stranded->next;
    }
    return stranded;
}

static bool range_is_valid(const struct hbm *hbm, uint64_t address, uint64_t size_bytes)
{
    uint64_t mask = hbm->options.granule_bytes - 1u, capacity_bytes = hbm->options.capacity_bytes;
    return size_bytes != 0 && ((address | size_bytes) & mask) == 0 &&
           size_bytes <= capacity_bytes && address <= capacity_bytes - size_bytes;
}

static enum hbm_result retire_locked(struct hbm *hbm, uint64_t address, uint64_t size_bytes)
{
    uint32_t hole = hbm_heap_hole_around(&hbm->heap, address, size_bytes);
    if (hole == HBM_POOL_NONE) {
        return hbm_fail_invalid(hbm, "what is retired must be free");
    }
    if (absent_next(hbm, hbm->stranded) != NULL) {
        return hbm_fail_unavailable(hbm,
                                    "contents that are stranded on the host may need the place");
    }
    uint32_t number = hbm_heap_take_at(&hbm->heap, hole, address, size_bytes);
    if (number == HBM_POOL_NONE) {
        return hbm_fail_unavailable(hbm, "no host memory for the record of what is retired");
    }
    struct hbm_block *block = hbm_heap_at(&hbm->heap, number);
    block->role = HBM_ROLE_RETIRED;
    block->dying = false;
    memset(&block->used, 0, sizeof block->used);
    block->used.unpadded_bytes = size_bytes;
    if (size_bytes > hbm->totals.largest_alloc_size) {
        hbm->totals.largest_alloc_size = size_bytes;
    }
    hbm_peaks_note(hbm);
    return HBM_OK;
}

enum hbm_result hbm_retire(struct hbm *hbm, uint64_t address, uint64_t size_bytes)
{
    if (!range_is_valid(hbm, address, size_bytes)) {
        return hbm_fail_invalid(hbm, "what is retired must be whole granules inside the device");
    }
    hbm_lock_take(&hbm->lock);
    hbm_collect(hbm);
    enum hbm_result result = retire_locked(hbm, address, size_bytes);
    hbm_lock_give(&hbm->lock);
    return result;
}

/* ---- counters ---- */

void hbm_stats(struct hbm *hbm, struct hbm_stats *out)
{
    hbm_lock_take(&hbm->lock);
    hbm_collect_events(hbm);
    *out = hbm->totals;
    out->num_allocs = hbm->heap.used_count;
    out->bytes_in_use = hbm->heap.used_bytes;
    out->bytes_limit = hbm->options.capacity_bytes;
    out->bytes_reserved = hbm_heap_reserved(&hbm->heap);
    out->largest_free_block_bytes = hbm_heap_largest(&hbm->heap);
    hbm_lock_give(&hbm->lock);
}

uint64_t hbm_host_bytes(const struct hbm *hbm)
{
    struct hbm *locked = (struct hbm *)(uintptr_t)hbm;
    hbm_lock_take(&locked->lock);
    uint64_t bytes = hbm->host.bytes;
    hbm_lock_give(&locked->lock);
    return bytes;
}

/* ---- invariants ---- */

static bool stranded_hold(const struct hbm *hbm)
{
    for (const struct hbm_stranded *stranded = hbm->stranded; stranded != NULL;
         stranded = stranded->next) {
        if (!hbm_block_is_stranded(hbm_heap_at(&hbm->heap, stranded->block))) {
            return false;
        }
    }
    return true;
}

static bool program_holds(const struct hbm *hbm, const struct hbm_program *program)
{
    if (program->next == NULL ? hbm->program_last != program : program->next->previous != program) {
        return false;
    }
    if (program->block == HBM_POOL_NONE) {
        return !program->unloading;
    }
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, program->block);
    return block->role == HBM_ROLE_PROGRAM && block->used.program == program &&
           block->dying == program->unloading;
}

static bool programs_hold(const struct hbm *hbm)
{
    for (const struct hbm_program *program = hbm->program_first; program != NULL;
         program = program->next) {
        if (!program_holds(hbm, program)) {
            return false;
        }
    }
    return hbm_heap_reserved(&hbm->heap) == hbm_stack_needed(hbm);
}

/* Every use names a used block, and the blocks' own counts add up to the same number. */
static bool uses_hold(const struct hbm *hbm, uint64_t use_sum)
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
    return count == use_sum && count == hbm->pending.uses.used_count;
}

static bool blocks_hold(const struct hbm *hbm)
{
    uint64_t bytes = 0, count = 0, use_sum = 0, dying = 0;
    const struct hbm_stranded *absent = absent_next(hbm, hbm->stranded);
    for (; absent != NULL; absent = absent_next(hbm, absent->next)) {
        const struct hbm_block *block = hbm_heap_at(&hbm->heap, absent->block);
        count++;
        bytes += block->size_bytes;
        use_sum += block->used.use_count;
        dying += block->dying;
    }
    const struct hbm_block *block = hbm_heap_at(&hbm->heap, hbm->heap.stack);
    while (block->next != HBM_POOL_NONE) {
        block = hbm_heap_at(&hbm->heap, block->next);
        if (block->role == HBM_ROLE_HOLE) {
            continue;
        }
        count++;
        bytes += block->size_bytes;
        use_sum += block->used.use_count;
        dying += block->dying;
        if (block->dying && block->used.use_count == 0 && block->used.hold_count == 0) {
            return false;
        }
    }
    return count == hbm->heap.used_count && bytes == hbm->heap.used_bytes &&
           dying == hbm->dying_count && uses_hold(hbm, use_sum);
}

bool hbm_invariants_hold(const struct hbm *hbm)
{
    struct hbm *locked = (struct hbm *)(uintptr_t)hbm;
    hbm_lock_take(&locked->lock);
    bool hold = hbm_heap_invariants_hold(&hbm->heap) && blocks_hold(hbm) && stranded_hold(hbm) &&
                programs_hold(hbm) &&
                hbm->heap.used_bytes + hbm_heap_reserved(&hbm->heap) <= hbm->options.capacity_bytes;
    hbm_lock_give(&locked->lock);
    return hold;
}
