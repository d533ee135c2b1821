#include "harness/base/check.h"
#include "harness/base/search.h"
#include "harness/device/span_map.h"
#include "harness/model/private/model_state.h"
#include "harness/op/fit.h"

/* --- regions --- */

void model_set_regions(struct model *model, const struct device_region *regions, size_t count)
{
    CHECK(count == 0 || model->contract.regions.grows);
    if (count > model->region_capacity) {
        model->region_capacity = count * 2;
        model->regions = array_resized(model->regions,
                                       model->region_capacity * sizeof *model->regions);
    }
    if (count > 0) {
        memcpy(model->regions, regions, count * sizeof *regions);
    }
    model->region_count = count;
    model->holes_known = false;
}

const struct device_region *model_regions(const struct model *model, size_t *count)
{
    *count = model->region_count;
    return model->regions;
}

const struct device_region *model_region_of(const struct model *model, uint64_t address,
                                            uint64_t size_bytes)
{
    size_t above; /* the first region that begins above the address */
    CHECK(size_bytes > 0);
    SEARCH_FIRST(above, 0, model->region_count, model->regions[above].address > address);
    if (above == 0) {
        return NULL;
    }
    const struct device_region *region = &model->regions[above - 1];
    const uint64_t offset = address - region->address;
    return offset < region->size_bytes && size_bytes <= region->size_bytes - offset ? region : NULL;
}

/* --- holes --- */

static void add_hole(uint64_t bytes, uint64_t *largest, uint64_t *count)
{
    raise_to(largest, bytes);
    *count += bytes > 0;
    CHECK_COSTLY(*largest >= bytes);
    CHECK_COSTLY((*count > 0) == (*largest > 0));
}

/* Adds the holes of [start, end), which no block sticks out of. */
static void add_holes(const struct model *model, uint64_t start, uint64_t end, uint64_t *largest,
                      uint64_t *count)
{
    uint64_t at = start;
    struct span span;
    EACH_SPAN_BETWEEN(&model->map, start, end, &span) {
        add_hole(span.start > at ? span.start - at : 0, largest, count);
        at = span.end;
    }
    add_hole(end > at ? end - at : 0, largest, count);
}

/* The cache is not part of what the model says: it may be filled through a const pointer. */
static void update_holes(const struct model *model)
{
    if (model->holes_known) {
        return;
    }
    uint64_t largest = 0;
    uint64_t count = 0;
    for (size_t i = 0; i < model->region_count; i++) {
        const struct device_region *region = &model->regions[i];
        add_holes(model, region->address, region->address + region->size_bytes, &largest, &count);
    }
    if (model->contract.placement != PLACEMENT_RANGES) {
        /* nobody is told where they are: all that is free counts as one */
        add_hole(model_free_bytes(model), &largest, &count);
    } else if (!model->contract.regions.grows) {
        add_holes(model, model->counters.reserved_bytes, model->counters.capacity_bytes, &largest,
                  &count);
    }
    struct model *cache = (struct model *)(uintptr_t)model;
    cache->largest_hole_bytes = largest;
    cache->hole_count = count;
    cache->holes_known = true;
}

uint64_t model_largest_hole_bytes(const struct model *model)
{
    update_holes(model);
    return model->largest_hole_bytes;
}

uint64_t model_hole_count(const struct model *model)
{
    update_holes(model);
    return model->hole_count;
}

/* Finds what model_free_range() finds, but from `at` up alone. */
static bool find_free_above(const struct model *model, uint64_t at, uint64_t *start, uint64_t *end)
{
    struct span span;
    at = at > model->counters.reserved_bytes ? at : model->counters.reserved_bytes;
    EACH_SPAN_BETWEEN(&model->map, at, UINT64_MAX, &span) {
        CHECK_COSTLY(span.start < span.end);
        if (span.start > at) {
            *start = at;
            *end = span.start;
            return true;
        }
        at = span.end;
    }
    *start = at;
    *end = model->counters.capacity_bytes;
    return at < model->counters.capacity_bytes;
}

bool model_free_range(const struct model *model, uint64_t address, uint64_t *start, uint64_t *end)
{
    return find_free_above(model, address, start, end) || find_free_above(model, 0, start, end);
}

/* --- fits --- */

static uint64_t sum_pair(const struct model *model, const struct block *block)
{
    struct span above;
    const uint64_t end = block->address + block->size_bytes;
    const bool is_touched = !block->is_absent &&
                            span_map_intersects(model_map(model), end, end + 1, &above);
    return block->size_bytes + (is_touched ? above.end - above.start : 0);
}

static uint64_t find_base(const struct fit *fit, const struct model *model)
{
    const size_t count = model_live_count(model);
    switch ((enum fit_kind)fit->kind) {
    case FIT_HOLE:
        return model_largest_hole_bytes(model);
    case FIT_FREE:
        return model_free_bytes(model);
    case FIT_HALF:
        return model_free_bytes(model) / 2;
    case FIT_BLOCK:
        return count == 0 ? model_granule_bytes(model)
                          : model_live(model, fit->index % count)->size_bytes;
    default:
        return count == 0 ? model_granule_bytes(model)
                          : sum_pair(model, model_live(model, fit->index % count));
    }
}

uint64_t fit_bytes(const struct fit *fit, const struct model *model)
{
    const uint64_t base = find_base(fit, model);
    /* Neither product nor sum can overflow: 2^31 granules of at most 1 GiB, in a device of at most
     * 2^50 bytes. */
    const int64_t size = (int64_t)base + fit->granules * (int64_t)model_granule_bytes(model);
    return size > 0 ? (uint64_t)size : base > 0 ? base : 1;
}
