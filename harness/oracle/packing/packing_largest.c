#include "harness/oracle/packing/private/packing_search.h"

enum packing_result packing_search_largest(struct packing *packing, size_t count, uint64_t limit,
                                           size_t *used_count)
{
    const struct packing_sizes whole = packing->sizes;
    struct packing_sizes *sizes = &packing->sizes;
    sizes->item_count = packing_run_end(whole.items, whole.item_count, count - 1);
    for (size_t i = sizes->item_count; i < whole.item_count; i++) {
        sizes->slack += whole.items[i];
    }
    *used_count = sizes->item_count;
    const enum packing_result result = packing_search_bins(packing, limit);
    *sizes = whole;
    return result;
}

/* The rest of a packing of the largest is put down in so many steps. */
static uint64_t count_steps(const struct packing *packing, size_t used_count)
{
    return packing_node_steps((packing->sizes.item_count - used_count) * packing->sizes.bin_count);
}

static bool completes(struct packing *packing, uint64_t nodes_end, size_t used_count)
{
    uint64_t left = nodes_end > packing->nodes ? nodes_end - packing->nodes : 0;
    return packing_step(packing, count_steps(packing, used_count), &left) &&
           packing_greedy_rest(packing, used_count);
}

enum packing_result packing_try_largest(struct packing *packing, uint64_t limit, size_t *used_count)
{
    enum { FIRST = 6, LAST = 128, GROWTH = 4, BINS_MAX = 1024 };
    const size_t item_count = packing->sizes.item_count;
    /* Each search takes memory for its items times the bins. */
    if (packing->sizes.bin_count > BINS_MAX) {
        return PACKING_UNKNOWN;
    }
    const uint64_t nodes_end = packing->nodes + limit;
    size_t count = FIRST;
    while (count <= LAST && count < item_count && packing->nodes < nodes_end) {
        const enum packing_result result = packing_search_largest(
            packing, count, nodes_end - packing->nodes, used_count);
        if (result == PACKING_NONE) {
            return result;
        }
        if (result == PACKING_FITS && completes(packing, nodes_end, *used_count)) {
            return result;
        }
        count = *used_count + *used_count / GROWTH;
    }
    return PACKING_UNKNOWN;
}
