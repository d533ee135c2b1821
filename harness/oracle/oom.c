#include "harness/oracle/oom.h"

#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/device/span_map.h"

#include <stdlib.h>
#include <string.h>

static void reserve_blocks(struct oom *oom, const struct model *model)
{
    const size_t block_count = model_map(model)->count;
    const size_t slot_count = model_slot_count(model);
    if (block_count > oom->block_capacity) {
        oom->block_capacity = block_count * 2;
        oom->blocks = array_resized(oom->blocks, oom->block_capacity * sizeof *oom->blocks);
    }
    /* One more than there are: pointers into no memory at all are undefined. */
    if (slot_count >= oom->due_time_capacity) {
        oom->due_time_capacity = slot_count * 2 + 1;
        oom->due_times_ns = array_resized(oom->due_times_ns,
                                          oom->due_time_capacity * 2 * sizeof *oom->due_times_ns);
    }
}

static struct oom_block make_block(const struct block *block, uint64_t wait_due_ns,
                                   uint64_t use_due_ns)
{
    const uint64_t judged_bytes = block->size_bytes < block->promised_bytes ? block->size_bytes
                                                                            : block->promised_bytes;
    /* If events have no times, a use counts as one that never ends unless a drain awaits it. */
    const uint64_t freed_at_ns = wait_due_ns > use_due_ns ? wait_due_ns : use_due_ns;
    return (struct oom_block){
        .address = block->address,
        .size_bytes = judged_bytes,
        .surplus_bytes = block->size_bytes - judged_bytes,
        .align_bytes = block->align_bytes,
        .stack_bytes = block->stack_bytes,
        .used_until_ns = use_due_ns,
        .freed_at_ns = block->state == BLOCK_DYING ? freed_at_ns : 0,
        .op = block->op,
        .hold_count = block->hold_count,
        .kind = block->kind,
        .state = block->state,
    };
}

static void take_blocks(struct oom *oom, const struct model *model)
{
    const uint64_t *wait_due_ns = oom->due_times_ns;
    uint64_t *use_due_ns = oom->due_times_ns + oom->due_time_capacity;
    model_due_times(model, oom->due_times_ns, use_due_ns);
    struct span span;
    size_t count = 0;
    const struct span_map *map = model_map(model);
    EACH_SPAN(map, &span) {
        const uint32_t slot = (uint32_t)span.owner;
        oom->blocks[count++] = make_block(model_block(model, slot), wait_due_ns[slot],
                                          use_due_ns[slot]);
    }
    CHECK(count == map->count);
    oom->block_count = count;
}

static void reserve_regions(struct oom *oom, size_t count)
{
    if (count > oom->region_capacity) {
        oom->region_capacity = count * 2;
        oom->regions = array_resized(oom->regions, oom->region_capacity * sizeof *oom->regions);
    }
}

static void take_regions(struct oom *oom, const struct model *model)
{
    const struct target_contract *contract = model_contract(model);
    const struct device_region *regions = model_regions(model, &oom->region_count);
    oom->promised = contract->regions;
    oom->region_align_bytes = TARGET_REGION_ALIGN_BYTES;
    oom->needs_trim = false;
    if (oom->promised.step_bytes == 0) {
        oom->promised.step_bytes = contract->granule_bytes;
    }
    reserve_regions(oom, oom->region_count);
    if (oom->region_count > 0) {
        memcpy(oom->regions, regions, oom->region_count * sizeof *regions);
    }
}

/* Hides places.  If nothing moves, a block's alignment says nothing of the range that it takes. */
static void hide_places(struct oom *oom)
{
    const bool is_hidden = oom->placement != PLACEMENT_RANGES;
    for (size_t i = 0; (is_hidden || oom->header_bytes > 0) && i < oom->block_count; i++) {
        oom->blocks[i].address = is_hidden ? 0 : oom->blocks[i].address;
        oom->blocks[i].align_bytes = oom->granule_bytes;
    }
}

void oom_take(struct oom *oom, const struct model *model, const struct oom_request *request,
              uint32_t faults_fired)
{
    const struct target_contract *contract = model_contract(model);
    oom->capacity_bytes = model_capacity_bytes(model);
    oom->granule_bytes = contract->granule_bytes;
    oom->defrag = contract->defrag;
    oom->placement = contract->placement;
    oom->header_bytes = contract->header_bytes;
    oom->drains = contract->drains;
    oom->evicts = contract->evicts;
    oom->program_evicts_program = contract->program_evicts_program;
    oom->aligns_naturally = contract->aligns_naturally;
    oom->faults_fired = faults_fired;
    oom->request = *request;
    oom->request.other_bytes = request->size_bytes;
    oom->reported = (struct setup_reported){0};
    reserve_blocks(oom, model);
    take_blocks(oom, model);
    take_regions(oom, model);
    hide_places(oom);
    if (oom->placement == PLACEMENT_RANGES) {
        (void)oom_add_kept(oom, model);
    }
}

void oom_add_absent(struct oom *oom, const struct model *model)
{
    CHECK(oom->defrag == DEFRAG_REPACK);
    CHECK(oom->block_count == model_map(model)->count);
    for (size_t i = 0; i < model_absent_count(model); i++) {
        const uint32_t slot = model_absent_slot(model, i);
        oom->blocks = array_grown(oom->blocks, oom->block_count, &oom->block_capacity,
                                  sizeof *oom->blocks);
        struct oom_block *block = &oom->blocks[oom->block_count++];
        *block = make_block(model_block(model, slot), oom->due_times_ns[slot],
                            oom->due_times_ns[oom->due_time_capacity + slot]);
        block->address = OOM_IN_HOST_MEMORY;
    }
}

void oom_copy(struct oom *to, const struct oom *from)
{
    if (to->blocks == NULL || from->block_count > to->block_capacity) {
        to->block_capacity = from->block_count * 2 + 1;
        to->blocks = array_resized(to->blocks, to->block_capacity * sizeof *to->blocks);
    }
    reserve_regions(to, from->region_count);
    const struct oom own = *to;
    *to = *from;
    to->blocks = own.blocks;
    to->block_capacity = own.block_capacity;
    to->regions = own.regions;
    to->region_capacity = own.region_capacity;
    to->due_times_ns = NULL;
    to->kept = NULL;
    to->due_time_capacity = to->kept_capacity = 0;
    if (from->region_count > 0) {
        memcpy(to->regions, from->regions, from->region_count * sizeof *to->regions);
    }
    if (from->block_count > 0) {
        memcpy(to->blocks, from->blocks, from->block_count * sizeof *to->blocks);
    }
}

void oom_deinit(struct oom *oom)
{
    free(oom->blocks);
    free(oom->due_times_ns);
    free(oom->regions);
    free(oom->kept);
    *oom = (struct oom){0};
}

uint64_t oom_region_bytes(const struct oom *oom, uint64_t block_bytes)
{
    const uint64_t step = oom->promised.step_bytes;
    const uint64_t bytes = block_bytes < oom->capacity_bytes ? block_bytes : oom->capacity_bytes;
    return (bytes + (step - 1)) / step * step;
}

bool oom_has_region(const struct oom *oom, uint64_t address, uint64_t size_bytes)
{
    for (size_t i = 0; i < oom->region_count; i++) {
        const struct device_region *region = &oom->regions[i];
        if (address >= region->address && address - region->address < region->size_bytes &&
            size_bytes <= region->size_bytes - (address - region->address)) {
            return true;
        }
    }
    return false;
}

uint64_t oom_reserved_bytes(const struct oom *oom)
{
    uint64_t reserved = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        reserved = block->used_until_ns > 0 && block->stack_bytes > reserved ? block->stack_bytes
                                                                             : reserved;
    }
    return reserved;
}

struct oom_bounds oom_reservable(const struct oom *oom)
{
    size_t fixed = 0; /* index of the lowest block that may not move now */
    uint64_t movable_bytes = 0;
    uint64_t all_bytes = 0;
    bool is_found = false;
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const uint64_t taken_bytes = block->size_bytes + block->surplus_bytes;
        all_bytes += taken_bytes;
        is_found = is_found || oom->defrag == DEFRAG_NONE || block->state != BLOCK_LIVE ||
                   block->hold_count > 0 || block->used_until_ns > 0;
        fixed += !is_found;
        movable_bytes += is_found ? 0 : taken_bytes;
    }
    const uint64_t lowest_fixed = is_found ? oom->blocks[fixed].address : oom->capacity_bytes;
    uint64_t aligned = lowest_fixed;
    for (size_t i = fixed; i-- > 0;) {
        const struct oom_block *block = &oom->blocks[i];
        aligned = align_down(aligned - block->size_bytes - block->surplus_bytes,
                             block->align_bytes);
    }
    const uint64_t slid = lowest_fixed - movable_bytes;
    const uint64_t roomy = oom->capacity_bytes - all_bytes; /* free and reserved bytes */
    if (oom->defrag != DEFRAG_REPACK) {
        return (struct oom_bounds){aligned, slid};
    }
    return (struct oom_bounds){aligned, lowest_fixed < roomy ? lowest_fixed : roomy};
}
