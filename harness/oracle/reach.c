#include "harness/oracle/reach.h"

#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

const struct reach_gap reach_before_all = {.last = SIZE_MAX};

void reach_deinit(struct reach *reach)
{
    free(reach->ranges);
    free(reach->tops);
    *reach = (struct reach){0};
}

/* --- what is allowed --- */

/* A refused call excuses the mitigation that it belonged to; without host memory none can be
 * planned. */
static bool was_refused(const struct oom *oom, enum fault_kind fault)
{
    return (oom->faults_fired & (1u << fault | 1u << FAULT_HOST_MEMORY)) != 0;
}

uint64_t reach_drain_ns(const struct oom *oom)
{
    uint64_t until = 0;
    if (!oom->drains || was_refused(oom, FAULT_WAIT)) {
        return 0;
    }
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        const bool completes = block->state == BLOCK_DYING && block->hold_count == 0 &&
                               block->freed_at_ns != DELAY_NEVER;
        until = completes && block->freed_at_ns > until ? block->freed_at_ns : until;
    }
    return until;
}

bool reach_may_evict(const struct oom *oom, const struct oom_block *block, uint64_t until_ns)
{
    const bool evicts = oom->request.class == REQUEST_BUFFER ? oom->evicts
                                                             : oom->program_evicts_program;
    return block->kind == BLOCK_PROGRAM && block->state == BLOCK_LIVE &&
           !oom_block_is_absent(block) && block->used_until_ns <= until_ns &&
           block->op != oom->request.own_op && evicts && !was_refused(oom, FAULT_UNLOAD);
}

/* --- regions: fences between the places where a block may lie --- */

/* The most ranges that a reach of it has. */
static size_t find_range_count_max(const struct oom *oom)
{
    return oom->block_count + (oom->promised.grows ? 2 * (oom->region_count + 1) : 0);
}

/* Blocks that are still to be put between fences. */
struct fencing {
    struct reach *reach;
    const struct reach_range *blocks; /* block_count of them; next is the first one */
    size_t block_count, next;
    bool may_take;
};

static void put_fence(struct reach *reach, uint64_t start, uint64_t end)
{
    CHECK(start <= end);
    reach->ranges[reach->range_count++] = (struct reach_range){
        .start = start, .size_bytes = end - start, .align_bytes = 1, .block = REACH_FENCE};
}

static void take_longer(struct device_region *longest, uint64_t address, uint64_t size_bytes)
{
    if (size_bytes > longest->size_bytes) {
        *longest = (struct device_region){address, size_bytes};
    }
}

/* Puts what is free from start to end, but for the empty regions from `first` up to, not including,
 * `last`, which are given back. */
static void put_run(const struct fencing *fencing, uint64_t start, uint64_t end, size_t first,
                    size_t last)
{
    const struct oom *oom = fencing->reach->oom;
    struct device_region longest = {start, 0};
    for (size_t i = first; i < last; i++) {
        take_longer(&longest, oom->regions[i].address, oom->regions[i].size_bytes);
    }
    const uint64_t at = align_up(start, oom->region_align_bytes);
    if (fencing->may_take && at < end) {
        const uint64_t step = oom->promised.step_bytes;
        take_longer(&longest, at, (end - at) / step * step);
    }
    put_fence(fencing->reach, start, longest.address);
    put_fence(fencing->reach, longest.address + longest.size_bytes, end);
}

static bool has_block_below(const struct fencing *fencing, uint64_t end)
{
    return fencing->next < fencing->block_count && fencing->blocks[fencing->next].start < end;
}

static void put_regions(struct fencing *fencing)
{
    struct reach *reach = fencing->reach;
    const struct oom *oom = reach->oom;
    uint64_t start = 0;
    size_t first = 0;
    for (size_t i = 0; i < oom->region_count; i++) {
        const struct device_region *region = &oom->regions[i];
        const uint64_t end = region->address + region->size_bytes;
        if (oom->promised.trims && !has_block_below(fencing, end)) {
            continue;
        }
        put_run(fencing, start, region->address, first, i);
        while (has_block_below(fencing, end)) {
            reach->ranges[reach->range_count++] = fencing->blocks[fencing->next++];
        }
        start = end;
        first = i + 1;
    }
    put_run(fencing, start, oom->capacity_bytes, first, oom->region_count);
}

/* Puts unmovable ranges (REACH_FENCE) around the blocks, so that the gaps are the holes of the
 * regions, and, in each run of free memory between regions with blocks, the longest place that a
 * new region or an empty one has.  Both begin at a multiple of region_align_bytes, so the longest
 * takes whatever another one there would.  may_take: new regions may be had. */
static void put_fences(struct reach *reach, bool may_take)
{
    const size_t behind = find_range_count_max(reach->oom) - reach->range_count;
    struct fencing fencing = {.reach = reach,
                              .blocks = &reach->ranges[behind],
                              .block_count = reach->range_count,
                              .may_take = may_take};
    CHECK(reach->defrag == DEFRAG_NONE);
    CHECK(reach->bottom == 0);
    memmove(&reach->ranges[behind], reach->ranges, reach->range_count * sizeof *reach->ranges);
    reach->range_count = 0;
    put_regions(&fencing);
    CHECK(fencing.next == fencing.block_count); /* each block lies in a region */
}

/* --- the state --- */

static void reserve_reach(struct reach *reach, size_t range_count)
{
    if (range_count <= reach->range_capacity && reach->tops != NULL) {
        return;
    }
    reach->range_capacity = range_count * 2 + 1;
    reach->ranges = array_resized(reach->ranges, reach->range_capacity * sizeof *reach->ranges);
    reach->tops = array_resized(reach->tops, (reach->range_capacity + 1) * sizeof *reach->tops);
}

/* False: the mitigations make the block go. */
static bool is_staying(struct reach *reach, const struct reach_limits *limits, size_t i)
{
    const struct oom_block *block = &reach->oom->blocks[i];
    if (block->state == BLOCK_DYING) {
        const bool is_freed = block->hold_count == 0 && block->freed_at_ns <= limits->until_ns;
        reach->frees_awaited += is_freed;
        return !is_freed;
    }
    const bool must_stay = limits->stays != NULL && limits->stays[i];
    const bool goes = limits->evicts && !must_stay &&
                      reach_may_evict(reach->oom, block, limits->until_ns);
    reach->programs_evicted += goes;
    return !goes;
}

static void take_block(struct reach *reach, const struct reach_limits *limits, size_t i)
{
    const struct oom_block *block = &reach->oom->blocks[i];
    const bool is_used = block->used_until_ns > limits->until_ns;
    if (is_used && block->stack_bytes > reach->bottom) {
        reach->bottom = block->stack_bytes;
    }
    if (!is_staying(reach, limits, i)) {
        return;
    }
    const bool is_absent = oom_block_is_absent(block);
    reach->absent_count += is_absent;
    reach->ranges[reach->range_count++] = (struct reach_range){
        .start = block->address,
        .size_bytes = block->size_bytes,
        .align_bytes = block->align_bytes,
        .block = (uint32_t)i,
        .is_movable = is_absent || (reach->defrag != DEFRAG_NONE && block->state == BLOCK_LIVE &&
                                    block->hold_count == 0 && !is_used),
    };
}

void reach_decide(struct reach *reach, const struct oom *oom, const struct reach_limits *limits)
{
    reserve_reach(reach, find_range_count_max(oom));
    reach->oom = oom;
    reach->defrag = limits->moves && !was_refused(oom, FAULT_COPY) ? oom->defrag : DEFRAG_NONE;
    reach->until_ns = limits->until_ns;
    reach->bottom = oom->request.stack_bytes;
    reach->align = oom->request.align_bytes;
    /* A size above the device's may be too large to round or to add to: one granule too much is as
     * good. */
    const uint64_t size = oom->request.size_bytes;
    reach->need = size > oom->capacity_bytes ? oom->capacity_bytes + oom->granule_bytes
                                             : align_up(size, oom->granule_bytes);
    reach->range_count = reach->absent_count = 0;
    reach->frees_awaited = reach->programs_evicted = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        take_block(reach, limits, i);
    }
    if (oom->promised.grows) {
        put_fences(reach, !was_refused(oom, FAULT_REGION));
    }
}

void reach_decide_fully(struct reach *reach, const struct oom *oom)
{
    const struct reach_limits limits = {
        .until_ns = reach_drain_ns(oom), .moves = true, .evicts = true};
    reach_decide(reach, oom, &limits);
}

bool reach_is_too_large(const struct reach *reach)
{
    return reach->need > reach->oom->capacity_bytes || reach->bottom > reach->oom->capacity_bytes;
}

const struct reach_range *reach_fixed_below(const struct reach *reach)
{
    for (size_t i = 0; i < reach->range_count && reach->ranges[i].start < reach->bottom; i++) {
        if (!reach->ranges[i].is_movable) {
            return &reach->ranges[i];
        }
    }
    return NULL;
}

/* --- spans between unmovable blocks --- */

bool reach_next_gap(const struct reach *reach, struct reach_gap *gap)
{
    size_t i = 0;
    if (gap->last == SIZE_MAX) {
        gap->start = reach->bottom;
    } else if (gap->last == reach->range_count) {
        return false;
    } else {
        const struct reach_range *fixed = &reach->ranges[gap->last];
        const uint64_t end = fixed->start + fixed->size_bytes;
        gap->start = end > reach->bottom ? end : reach->bottom;
        i = gap->last + 1;
    }
    gap->first = i;
    while (i < reach->range_count && reach->ranges[i].is_movable) {
        i++;
    }
    gap->last = i;
    gap->end = i < reach->range_count ? reach->ranges[i].start : reach->oom->capacity_bytes;
    gap->end = gap->end < gap->start ? gap->start : gap->end;
    return true;
}

uint64_t reach_aligned_up(const struct reach *reach, uint64_t at)
{
    return align_up(at + reach->oom->header_bytes, reach->align) - reach->oom->header_bytes;
}

uint64_t reach_aligned_down(const struct reach *reach, uint64_t at)
{
    const uint64_t header_bytes = reach->oom->header_bytes;
    const uint64_t above = align_down(at + header_bytes, reach->align);
    return above < header_bytes ? 0 : above - header_bytes;
}

/* tops[i + 1]: where the ranges from i + 1 up begin when pushed up; false: they do not fit even so.
 */
static bool push_up(const struct reach *reach, const struct reach_gap *gap)
{
    uint64_t top = gap->end;
    for (size_t i = gap->last; i-- > gap->first;) {
        const struct reach_range *range = &reach->ranges[i];
        reach->tops[i + 1] = top;
        if (top < gap->start || range->size_bytes > top - gap->start) {
            return false;
        }
        top = align_down(top - range->size_bytes, range->align_bytes);
    }
    reach->tops[gap->first] = top;
    return top >= gap->start;
}

bool reach_gap_slides(const struct reach *reach, const struct reach_gap *gap, uint64_t need,
                      uint64_t align)
{
    if (!push_up(reach, gap)) {
        return false;
    }
    uint64_t bottom = gap->start;
    for (size_t i = gap->first;; i++) {
        const uint64_t header_bytes = need == 0 ? 0 : reach->oom->header_bytes;
        const uint64_t at = align_up(bottom + header_bytes, align) - header_bytes;
        if (need == 0 || (at <= reach->tops[i] && need <= reach->tops[i] - at)) {
            return true;
        }
        if (i == gap->last) {
            return false;
        }
        bottom = align_up(bottom, reach->ranges[i].align_bytes) + reach->ranges[i].size_bytes;
    }
}

bool reach_slides(const struct reach *reach, struct reach_gap *where)
{
    struct reach_gap gap = reach_before_all;
    bool is_found = false;
    bool is_lowest = true;
    while (reach_next_gap(reach, &gap)) {
        if (is_lowest && !reach_gap_slides(reach, &gap, 0, 1)) {
            return false;
        }
        is_lowest = false;
        if (!is_found && reach_gap_slides(reach, &gap, reach->need, reach->align)) {
            is_found = true;
            *where = gap;
        }
    }
    return is_found;
}
