#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/align.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

/* Items with alignments above the granule waste room that depends on their neighbours.  Any packing
 * can be pushed down in each bin, so it is enough to fill bins from the bottom, the shortest first:
 * at each step one of the different items left goes to the next place that its alignment allows, or
 * the bin is closed. */
struct aligned_node {
    uint64_t at;    /* where bin `bin` goes on */
    uint64_t waste; /* what may still be lost */
    size_t bin;
    size_t first;  /* the first type that may come next: neighbours without alignment are kept in
                      descending order */
    size_t branch; /* the branch taken: a type; type_count: the bin was closed */
};
struct aligned_search {
    struct packing *packing;
    const struct packing_problem *problem;
    struct packing_bin *bins;   /* the shortest first; of equal ones that of the higher address */
    uint32_t *order;            /* the items of the problem, in the order of types */
    struct packing_kind *types; /* type_count of them; their counts: left to place */
    size_t type_count, left;    /* items to place */
    struct aligned_node *nodes;
    size_t depth; /* of the node that is visited */
};

static uint64_t bin_start(const struct aligned_search *search, size_t bin)
{
    return search->bins[bin].start / search->problem->granule_bytes;
}

static uint64_t bin_end(const struct aligned_search *search, size_t bin)
{
    return search->bins[bin].end / search->problem->granule_bytes;
}

static bool may_come_next(const struct aligned_search *search, const struct aligned_node *node,
                          size_t i)
{
    const struct packing_kind *type = &search->types[i];
    const uint64_t start = align_up(node->at, type->align);
    const uint64_t end = bin_end(search, node->bin);
    return type->count > 0 && (type->align > 1 || i >= node->first) && start <= end &&
           type->size <= end - start && start - node->at <= node->waste;
}

/* The first branch of the node from `branch` on, one past type_count when there is none. */
static size_t next_branch(const struct aligned_search *search, const struct aligned_node *node,
                          size_t branch)
{
    while (branch < search->type_count && !may_come_next(search, node, branch)) {
        branch++;
    }
    const bool may_close = node->bin + 1 < search->problem->bin_count &&
                           bin_end(search, node->bin) - node->at <= node->waste;
    return branch == search->type_count && !may_close ? branch + 1 : branch;
}

/* Goes down one branch of the node: a type is placed, or the bin is closed. */
static void follow_branch(struct aligned_search *search, size_t branch)
{
    struct aligned_node *node = &search->nodes[search->depth];
    struct aligned_node *child = &search->nodes[++search->depth];
    node->branch = branch;
    packing_log_add(search->packing, branch < search->type_count ? 'b' : 'c');
    if (branch == search->type_count) {
        *child = (struct aligned_node){.bin = node->bin + 1,
                                       .at = bin_start(search, node->bin + 1),
                                       .waste = node->waste -
                                                (bin_end(search, node->bin) - node->at)};
        return;
    }
    struct packing_kind *type = &search->types[branch];
    const uint64_t start = align_up(node->at, type->align);
    type->count--;
    search->left--;
    *child = (struct aligned_node){.bin = node->bin,
                                   .at = start + type->size,
                                   .waste = node->waste - (start - node->at),
                                   .first = type->align == 1 ? branch : 0};
}

/* Follows the next branch of the deepest node that has one after those tried; false: none. */
static bool go_on(struct aligned_search *search, size_t branch)
{
    for (;;) {
        /* Closing the bin is the last branch; where it may not be closed, nothing more fits and too
         * much is left. */
        const bool is_closed = branch > search->type_count;
        branch = next_branch(search, &search->nodes[search->depth], branch);
        if (branch <= search->type_count) {
            follow_branch(search, branch);
            return true;
        }
        if (!is_closed) {
            packing_log_add(search->packing, 'f');
        }
        if (search->depth == 0) {
            return false;
        }
        const size_t tried = search->nodes[--search->depth].branch;
        if (tried < search->type_count) {
            search->types[tried].count++;
            search->left++;
        }
        branch = tried + 1;
    }
}

static void keep_addresses(struct aligned_search *search)
{
    for (size_t i = 0; i < search->depth; i++) {
        const struct aligned_node *node = &search->nodes[i];
        if (node->branch < search->type_count) {
            struct packing_kind *type = &search->types[node->branch];
            search->packing
                ->addresses[search->order[type->first++]] = align_up(node->at, type->align) *
                                                            search->problem->granule_bytes;
        }
    }
}

/* Granules of bins less granules of items; not negative. */
static uint64_t sum_slack(const struct packing_problem *problem)
{
    uint64_t slack = 0;
    for (size_t i = 0; i < problem->bin_count; i++) {
        slack += (problem->bins[i].end - problem->bins[i].start) / problem->granule_bytes;
    }
    for (size_t i = 0; i < problem->item_count; i++) {
        slack -= problem->items[i].size_bytes / problem->granule_bytes;
    }
    return slack;
}

enum packing_result packing_search_aligned(struct packing *packing,
                                           const struct packing_problem *problem, uint64_t limit)
{
    struct aligned_search search = {
        .packing = packing, .problem = problem, .left = problem->item_count};
    CHECK(problem->bin_count > 0);
    if (problem->item_count > PACKING_SEARCH_ITEMS_MAX) {
        return PACKING_UNKNOWN;
    }
    search.types = packing_kinds_of_items(packing, problem, &search.order, &search.type_count);
    search.bins = packing_sort_bins(search.packing, search.problem);
    search.nodes = packing_take(packing, problem->item_count + problem->bin_count,
                                sizeof *search.nodes);
    search.nodes[0] = (struct aligned_node){.at = bin_start(&search, 0),
                                            .waste = sum_slack(problem)};
    packing_log_clear(packing);
    packing_spend_on(packing, PACKING_EFFORT_SEARCH);
    const uint64_t steps = packing_node_steps(search.type_count);
    while (search.left > 0) {
        if (!packing_step(packing, steps, &limit)) {
            return PACKING_UNKNOWN;
        }
        if (!go_on(&search, 0)) {
            return PACKING_NONE;
        }
    }
    if (problem->wants_proof) {
        keep_addresses(&search);
    }
    return PACKING_FITS;
}
