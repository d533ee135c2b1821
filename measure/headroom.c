#include "measure/headroom.h"

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Finds the largest request; the given one has one granule, as the search varies the size. */
static struct oracle_largest find_largest(const struct model *model, struct oracle *oracle,
                                          struct oom *oom, uint64_t nodes_max)
{
    const uint64_t granule_bytes = model_granule_bytes(model);
    const struct oom_request request = {.class = REQUEST_BUFFER,
                                        .size_bytes = granule_bytes,
                                        .asked_bytes = granule_bytes,
                                        .asked_align_bytes = granule_bytes,
                                        .align_bytes = granule_bytes,
                                        .own_op = OP_NONE};
    oom_take(oom, model, &request, 0);
    if (model_absent_count(model) > 0) {
        oom_add_absent(oom, model);
    }
    return oracle_find_largest(oracle, oom, VERDICT_UNKNOWN, nodes_max);
}

static void take_sums(const struct model *model, struct headroom *headroom)
{
    *headroom = (struct headroom){.is_hidden = model_contract(model)->placement == PLACEMENT_HIDDEN,
                                  .capacity_bytes = model_capacity_bytes(model),
                                  .in_use_bytes = model_in_use_bytes(model),
                                  .stack_bytes = model_reserved_bytes(model),
                                  .free_bytes = model_free_bytes(model),
                                  .largest_hole_bytes = model_largest_hole_bytes(model)};
}

/* Takes what is lost; if the contract grows, headroom->largest must be known before. */
static void take_lost(const struct model *model, struct headroom *headroom)
{
    uint64_t whole_bytes = headroom->largest_hole_bytes;
    if (model_contract(model)->regions.grows && headroom->largest.bytes > whole_bytes) {
        whole_bytes = headroom->largest.bytes;
    }
    headroom->lost_bytes = headroom->free_bytes - smaller_of(whole_bytes, headroom->free_bytes);
}

void headroom_take(const struct model *model, struct oracle *oracle, struct oom *oom,
                   uint64_t nodes_max, struct headroom *headroom)
{
    take_sums(model, headroom);
    headroom->largest = find_largest(model, oracle, oom, nodes_max);
    take_lost(model, headroom);
}

static bool is_worse(const struct headroom *now, const struct headroom *worst)
{
    return worst->free_bytes == 0 || (__uint128_t)now->lost_bytes * worst->free_bytes >
                                         (__uint128_t)worst->lost_bytes * now->free_bytes;
}

/* A hole of all but worst's share of what is free: no more than that is lost now. */
static bool has_hole_enough(const struct model *model, const struct headroom *worst)
{
    struct model_window hole;
    size_t count = 0;
    const struct target_contract *contract = model_contract(model);
    if (worst->free_bytes == 0 || contract->placement != PLACEMENT_RANGES ||
        contract->regions.grows) {
        return false;
    }
    const uint64_t free_bytes = model_free_bytes(model);
    const uint64_t lost_bytes = (uint64_t)((__uint128_t)free_bytes * worst->lost_bytes /
                                           worst->free_bytes);
    return lost_bytes == free_bytes ||
           (model_find_holes(model, free_bytes - lost_bytes, 1, &hole, &count) && count > 0);
}

/* A request as large as what no region takes in one piece gets a region of its own. */
static uint64_t find_untaken(const struct model *model)
{
    const uint64_t step_bytes = model_contract(model)->regions.step_bytes;
    uint64_t from = model_reserved_bytes(model), untaken_bytes = 0;
    size_t count = 0;
    const struct device_region *regions = model_regions(model, &count);
    for (size_t i = 0; i <= count; i++) {
        const uint64_t to = i < count ? regions[i].address : model_capacity_bytes(model);
        untaken_bytes = to > from && to - from > untaken_bytes ? to - from : untaken_bytes;
        from = i < count ? to + regions[i].size_bytes : to;
    }
    return step_bytes == 0 ? untaken_bytes : untaken_bytes / step_bytes * step_bytes;
}

/* Returns true if a region that could be taken shows that no more than worst's share is lost. */
static bool has_region_enough(const struct model *model, const struct headroom *now,
                              const struct headroom *worst)
{
    struct headroom least = *now;
    least.largest.bytes = find_untaken(model);
    take_lost(model, &least);
    return !is_worse(&least, worst);
}

bool headroom_take_if_worse(const struct model *model, struct oracle *oracle, struct oom *oom,
                            uint64_t nodes_max, struct headroom *worst)
{
    const struct target_contract *contract = model_contract(model);
    struct headroom now;
    if (model_free_bytes(model) == 0 || contract->placement == PLACEMENT_HIDDEN ||
        has_hole_enough(model, worst)) {
        return false;
    }
    take_sums(model, &now);
    if (contract->regions.grows) {
        if (has_region_enough(model, &now, worst)) {
            return false;
        }
        now.largest = find_largest(model, oracle, oom, nodes_max);
    }
    take_lost(model, &now);
    if (!is_worse(&now, worst)) {
        return false;
    }
    *worst = now;
    return true;
}
