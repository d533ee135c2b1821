#include "diagnosis/fit.h"

#include "harness/base/align.h"
#include "harness/base/check.h"

#include <stdlib.h>

#define GONE UINT64_MAX

bool fit_has_efforts(const struct line_fit *fit)
{
    return fit->needs_region || fit->awaited_count + fit->moved_count + fit->evicted_count > 0;
}

/* Returns where each block lies once the plan is carried out, or GONE; the caller frees it. */
static uint64_t *carry_out(const struct oom *oom, const struct proof_plan *plan)
{
    uint64_t *places = malloc((oom->block_count + 1) * sizeof *places);
    CHECK(places != NULL);
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool is_freed = block->state == BLOCK_DYING && block->hold_count == 0 &&
                              block->freed_at_ns <= plan->until_ns;
        places[i] = is_freed ? GONE : block->address;
    }
    for (size_t i = 0; i < plan->evicted_count; i++) {
        places[plan->evicted[i]] = GONE;
    }
    for (size_t i = 0; i < plan->move_count; i++) {
        if (plan->moves[i].to != PROOF_IN_HOST_MEMORY) {
            places[plan->moves[i].block] = plan->moves[i].to;
        }
    }
    return places;
}

/* The stack that is reserved then, the request's included. */
static uint64_t find_bottom(const struct oom *oom, const struct proof_plan *plan)
{
    uint64_t bottom = oom->request.stack_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool is_used = block->used_until_ns > plan->until_ns;
        bottom = is_used && block->stack_bytes > bottom ? block->stack_bytes : bottom;
    }
    return bottom;
}

/* The part of [*start, *end) that is in the region of the address, be it held or new. */
static void cut_to_region(const struct oom *oom, struct line_fit *fit, uint64_t *start,
                          uint64_t *end)
{
    struct device_region region = {fit->address, oom_region_bytes(oom, fit->need_bytes)};
    fit->needs_region = !oom_has_region(oom, fit->address, fit->need_bytes);
    for (size_t i = 0; i < oom->region_count && !fit->needs_region; i++) {
        region = oom->regions[i].address <= fit->address ? oom->regions[i] : region;
    }
    const uint64_t region_end = region.address + region.size_bytes;
    *start = region.address > *start ? region.address : *start;
    *end = region_end < *end ? region_end : *end;
}

/* Measures the free range around the address of the plan. */
static void measure_hole(const struct oom *oom, const struct proof_plan *plan, struct line_fit *fit)
{
    uint64_t *places = carry_out(oom, plan);
    uint64_t start = find_bottom(oom, plan);
    uint64_t end = oom->capacity_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        const uint64_t above = places[i] == GONE ? 0 : places[i] + oom->blocks[i].size_bytes;
        if (places[i] != GONE && above <= plan->address) {
            start = above > start ? above : start;
        } else if (places[i] != GONE) {
            end = places[i] < end ? places[i] : end;
        }
    }
    free(places);
    if (oom->promised.grows) {
        cut_to_region(oom, fit, &start, &end);
    }
    CHECK(start <= plan->address && plan->address + fit->need_bytes <= end);
    fit->hole_address = start;
    fit->hole_bytes = end - start;
}

void fit_take(const struct run *run, bool has_lanes, struct line_fit *fit)
{
    const struct oom *oom = run_oom(run);
    const struct proof *proof = run_prove(run);
    const struct proof_plan *plan = &proof->plan;
    const struct observation *seen = run_observation(run);
    CHECK(proof->kind == PROOF_PLAN);
    *fit = (struct line_fit){
        .need_bytes = align_up(oom->request.size_bytes, oom->granule_bytes),
        .align_bytes = oom->request.align_bytes,
        .stack_bytes = oom->request.stack_bytes,
        .address = plan->address,
        .awaited_count = plan->frees_awaited,
        .evicted_count = plan->evicted_count,
        .evicted_bytes = plan->evicted_bytes,
        .moved_count = plan->move_count - plan->staged_count,
        .moved_bytes = plan->moved_bytes,
        .waits_done = has_lanes ? 0 : seen->wait_count,
        .moves_done = has_lanes ? 0 : seen->copy_count + seen->stage_count,
        .evictions_done = has_lanes ? 0 : seen->unload_count,
    };
    if (fit->need_bytes > 0) {
        measure_hole(oom, plan, fit);
    }
}
