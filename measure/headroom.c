#include "measure/headroom.h"

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Of one granule: the search varies the size. */
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

void headroom_take(const struct model *model, struct oracle *oracle, struct oom *oom,
                   uint64_t nodes_max, struct headroom *headroom)
{
    *headroom = (struct headroom){.is_hidden = model_contract(model)->placement == PLACEMENT_HIDDEN,
                                  .capacity_bytes = model_capacity_bytes(model),
                                  .in_use_bytes = model_in_use_bytes(model),
                                  .stack_bytes = model_reserved_bytes(model),
                                  .free_bytes = model_free_bytes(model),
                                  .largest_hole_bytes = model_largest_hole_bytes(model)};
    headroom->largest = find_largest(model, oracle, oom, nodes_max);
    uint64_t whole_bytes = headroom->largest_hole_bytes;
    if (model_contract(model)->regions.grows && headroom->largest.bytes > whole_bytes) {
        whole_bytes = headroom->largest.bytes;
    }
    headroom->lost_bytes = headroom->free_bytes - smaller_of(whole_bytes, headroom->free_bytes);
}
