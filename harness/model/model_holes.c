#include "harness/base/check.h"
#include "harness/model/private/model_state.h"

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
