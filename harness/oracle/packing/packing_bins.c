#include "harness/oracle/packing/private/packing_search.h"

#include <string.h>

/* Bins are filled one after the other, the smallest first, each with a choice of items that wastes
 * no more than the slack that is left; the largest bin then takes all the rest.  Choices are made
 * item by item, largest first, and end where the items that are left cannot fill the bin; of equal
 * items the first ones are taken.
 *
 * An item that was passed over never hurts in the bin, neither beside the others nor instead of a
 * smaller one: where that leaves it room, another branch has the same packing with more in this
 * bin.  So less must stay. */
struct bins_step {
    uint64_t room, slack, passed, spare; /* of the node before it */
    uint32_t item;                       /* taken; item_count: the bin was closed */
};
struct bins_search {
    struct packing *packing;
    const uint64_t *items; /* descending */
    const uint64_t *bins;  /* descending: the one to fill is the last one, then the one before it */
    size_t item_count, bin_count;
    bool *used;      /* by item */
    uint64_t *fills; /* by bin a row of item_count + 1: what unused items from here on could add */
    struct bins_step *steps; /* how the node was reached */
    size_t step_count;
    uint64_t limit;
};
/* A node: bins after `bin` are closed, `room` is left of it, and it goes on at item i. */
struct bins_node {
    size_t bin, i;
    uint64_t room, slack;
    uint64_t passed; /* the size that was passed over last in this bin; 0 = none */
    uint64_t spare;  /* the most that may stay of the room; at most slack */
};
/* The rows take 8 bytes for each item and bin: 32 MiB. */
enum { FILL_COUNT_MAX = 1 << 22 };

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t *row_of(const struct bins_search *search, size_t bin)
{
    return &search->fills[bin * (search->item_count + 1)];
}

static struct bins_node begin_bin(struct bins_search *search, size_t bin, uint64_t slack)
{
    uint64_t *fill = row_of(search, bin);
    fill[search->item_count] = 0;
    for (size_t i = search->item_count; i-- > 0;) {
        fill[i] = fill[i + 1] + (search->used[i] ? 0 : search->items[i]);
    }
    return (struct bins_node){
        .bin = bin, .room = search->bins[bin], .slack = slack, .spare = slack};
}

/* Moves on to the first item that can be taken and says what follows. */
static char letter_at(const struct bins_search *search, struct bins_node *node)
{
    while (node->i < search->item_count &&
           (search->used[node->i] || search->items[node->i] > node->room)) {
        node->i++;
    }
    if (node->room > node->spare && node->room - node->spare > row_of(search, node->bin)[node->i]) {
        return 'f';
    }
    return node->i < search->item_count ? 'b' : 'c';
}

static void remember_bin(struct bins_search *search, const struct bins_node *node, size_t item)
{
    search->steps[search->step_count++] = (struct bins_step){.room = node->room,
                                                             .slack = node->slack,
                                                             .passed = node->passed,
                                                             .spare = node->spare,
                                                             .item = (uint32_t)item};
}

static void take_item(struct bins_search *search, struct bins_node *node)
{
    const size_t item = node->i;
    remember_bin(search, node, item);
    search->used[item] = true;
    node->i = item + 1;
    node->room -= search->items[item];
    if (node->passed > 0) {
        /* With so much room the size passed over could be here instead. */
        node->spare = smaller_of(node->spare, node->passed - search->items[item] - 1);
    }
}

/* Goes back to the last item taken and on without it; false when there is none. */
static bool leave_last_item(struct bins_search *search, struct bins_node *node)
{
    while (search->step_count > 0) {
        const struct bins_step *step = &search->steps[--search->step_count];
        if (step->item == search->item_count) {
            node->bin++;
            continue;
        }
        search->used[step->item] = false;
        const uint64_t size = search->items[step->item];
        *node = (struct bins_node){
            .bin = node->bin,
            .i = packing_run_end(search->items, search->item_count, step->item),
            .room = step->room,
            .slack = step->slack,
            .passed = size,
            .spare = smaller_of(step->spare, size - 1)};
        return true;
    }
    return false;
}

static void keep_packing(const struct bins_search *search, uint32_t *bin_of)
{
    memset(bin_of, 0, search->item_count * sizeof *bin_of);
    uint32_t bin = (uint32_t)search->bin_count - 1;
    for (size_t i = 0; i < search->step_count; i++) {
        if (search->steps[i].item == search->item_count) {
            bin--;
        } else {
            bin_of[search->steps[i].item] = bin;
        }
    }
}

static enum packing_result search_run(struct bins_search *search)
{
    struct packing *packing = search->packing;
    struct bins_node node = begin_bin(search, search->bin_count - 1, packing->sizes.slack);
    /* When only the largest bin is open, the items left sum to no more than it and the slack. */
    while (node.bin > 0) {
        if (!packing_step(packing, 1, &search->limit)) {
            return PACKING_UNKNOWN;
        }
        const char letter = letter_at(search, &node);
        packing_log_add(packing, letter);
        if (letter == 'b') {
            take_item(search, &node);
        } else if (letter == 'c') {
            remember_bin(search, &node, search->item_count);
            node = begin_bin(search, node.bin - 1, node.slack - node.room);
        } else if (!leave_last_item(search, &node)) {
            return PACKING_NONE;
        }
    }
    keep_packing(search, packing->sizes.bin_of);
    return PACKING_FITS;
}

enum packing_result packing_search_bins(struct packing *packing, uint64_t limit)
{
    const struct packing_sizes *sizes = &packing->sizes;
    const size_t item_count = sizes->item_count;
    const size_t bin_count = sizes->bin_count;
    if (item_count > PACKING_SEARCH_ITEMS_MAX || item_count + 1 > FILL_COUNT_MAX / bin_count) {
        return PACKING_UNKNOWN;
    }
    struct bins_search search = {.packing = packing,
                                 .items = sizes->items,
                                 .bins = sizes->bins,
                                 .item_count = item_count,
                                 .bin_count = bin_count,
                                 .limit = limit};
    search.used = packing_take(packing, item_count, sizeof *search.used);
    search.fills = packing_take(packing, (item_count + 1) * bin_count, sizeof *search.fills);
    search.steps = packing_take(packing, item_count + bin_count, sizeof *search.steps);
    memset(search.used, 0, item_count * sizeof *search.used);
    packing_log_clear(packing);
    packing_spend_on(packing, PACKING_EFFORT_SEARCH);
    return search_run(&search);
}

/* --- the largest items alone --- */

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

static bool completes(struct packing *packing, uint64_t nodes_end, size_t used_count)
{
    uint64_t left = nodes_end > packing->nodes ? nodes_end - packing->nodes : 0;
    /* The rest of a packing of the largest is put down in so many steps. */
    const uint64_t steps = packing_node_steps((packing->sizes.item_count - used_count) *
                                              packing->sizes.bin_count);
    return packing_step(packing, steps, &left) && packing_greedy_rest(packing, used_count);
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
