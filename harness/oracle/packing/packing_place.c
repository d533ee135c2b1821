#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/align.h"
#include "harness/base/order.h"

#include <stdlib.h>

/* qsort passes no context: what an index stands for is beside it. */
struct indexed {
    uint64_t key, second_key;
    uint32_t index;
};

static int compare_descending(const void *a, const void *b)
{
    const struct indexed *left = a;
    const struct indexed *right = b;
    return compare_then(compare_numbers(right->key, left->key),
                        compare_then(compare_numbers(right->second_key, left->second_key),
                                     compare_numbers(left->index, right->index)));
}

/* Returns, by bin of the sizes, which bin of the problem it is. */
static struct indexed *match_bins(struct packing *packing, const struct packing_problem *problem)
{
    struct indexed *bins = packing_take(packing, problem->bin_count, sizeof *bins);
    for (size_t i = 0; i < problem->bin_count; i++) {
        bins[i] = (struct indexed){.key = problem->bins[i].end - problem->bins[i].start,
                                   .index = (uint32_t)i};
    }
    qsort(bins, problem->bin_count, sizeof *bins, compare_descending);
    return bins;
}

/* Returns, by item of the sizes, which item of the problem it is. */
static struct indexed *match_items(struct packing *packing, const struct packing_problem *problem,
                                   bool is_padded)
{
    struct indexed *items = packing_take(packing, problem->item_count, sizeof *items);
    for (size_t i = 0; i < problem->item_count; i++) {
        const struct packing_item *item = &problem->items[i];
        const uint64_t padding = is_padded ? item->align_bytes - problem->granule_bytes : 0;
        items[i] = (struct indexed){item->size_bytes + padding, item->align_bytes, (uint32_t)i};
    }
    qsort(items, problem->item_count, sizeof *items, compare_descending);
    return items;
}

bool packing_place(struct packing *packing, const struct packing_problem *problem, bool is_padded)
{
    const struct indexed *bins = match_bins(packing, problem);
    struct indexed *items = match_items(packing, problem, is_padded);
    uint64_t *at = packing_take(packing, problem->bin_count, sizeof *at);
    for (size_t i = 0; i < problem->bin_count; i++) {
        at[i] = problem->bins[i].start;
    }
    /* The strictest alignments at the bottom leave the next ones aligned, as a rule. */
    for (size_t i = 0; i < problem->item_count; i++) {
        items[i].key = items[i].second_key;
        items[i].second_key = bins[packing->sizes.bin_of[i]].index;
    }
    qsort(items, problem->item_count, sizeof *items, compare_descending);
    for (size_t i = 0; i < problem->item_count; i++) {
        const struct packing_item *item = &problem->items[items[i].index];
        const uint64_t bin = items[i].second_key;
        const uint64_t start = align_up(at[bin], item->align_bytes);
        if (start > problem->bins[bin].end || item->size_bytes > problem->bins[bin].end - start) {
            return false;
        }
        packing->addresses[items[i].index] = start;
        at[bin] = start + item->size_bytes;
    }
    return true;
}
