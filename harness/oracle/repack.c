#include "harness/oracle/private/layout.h"

#include "harness/base/array.h"

#include <stdlib.h>

void repack_deinit(struct repack *repack)
{
    packing_destroy(repack->packing);
    free(repack->bins);
    free(repack->items);
    *repack = (struct repack){0};
}

static void reserve_bins(struct repack *repack, size_t count)
{
    if (repack->packing == NULL) {
        repack->packing = packing_create();
    }
    if (count <= repack->capacity) {
        return;
    }
    repack->capacity = count * 2;
    repack->bins = array_resized(repack->bins, repack->capacity * sizeof *repack->bins);
    repack->items = array_resized(repack->items, repack->capacity * sizeof *repack->items);
}

static void take_gaps(struct repack *repack, const struct reach *reach)
{
    struct reach_gap gap = reach_before_all;
    repack->bin_count = repack->item_count = 0;
    while (reach_next_gap(reach, &gap)) {
        if (gap.start < gap.end) {
            repack->bins[repack->bin_count++] = (struct packing_bin){gap.start, gap.end};
        }
        for (size_t i = gap.first; i < gap.last; i++) {
            const struct reach_range *range = &reach->ranges[i];
            repack->items[repack->item_count++] = (struct packing_item){range->size_bytes,
                                                                        range->align_bytes};
        }
    }
}

void repack_decide(struct repack *repack, const struct reach *reach, uint64_t nodes_max,
                   bool wants_proof, struct packing_answer *answer)
{
    reserve_bins(repack, reach->range_count + 2);
    take_gaps(repack, reach);
    if (reach->need > 0) {
        repack->items[repack->item_count++] = (struct packing_item){reach->need, reach->align};
    }
    const struct packing_problem problem = {
        .bins = repack->bins,
        .bin_count = repack->bin_count,
        .items = repack->items,
        .item_count = repack->item_count,
        .granule_bytes = reach->oom->granule_bytes,
        .nodes_max = nodes_max,
        .wants_proof = wants_proof,
    };
    packing_solve(repack->packing, &problem, answer);
}

uint64_t repack_bin_sum(const struct repack *repack, uint64_t unit)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < repack->bin_count; i++) {
        sum += (repack->bins[i].end - repack->bins[i].start) / unit;
    }
    return sum;
}

uint64_t repack_item_sum(const struct repack *repack, uint64_t unit)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < repack->item_count; i++) {
        sum += repack->items[i].size_bytes / unit;
    }
    return sum;
}

uint64_t repack_largest_item(const struct repack *repack)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < repack->item_count; i++) {
        largest = repack->items[i].size_bytes > largest ? repack->items[i].size_bytes : largest;
    }
    return largest;
}
