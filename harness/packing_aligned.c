#include "harness/packing_search.h"

#include "harness/check.h"

#include <stdbool.h>
#include <stdlib.h>

/* Items with alignments above the granule waste room that depends on their neighbours.  Any packing can be
 * pushed down in each bin, so it is enough to fill bins from the bottom: at each step one of the different
 * items left goes to the next place that its alignment allows, or the bin is closed. */
struct aligned_type {
    uint64_t size, align; /* granules */
    size_t count;         /* left to place */
};
struct aligned_search {
    const struct packing_problem *problem;
    struct aligned_type *types; /* type_count of them, larger sizes first */
    size_t type_count, left;    /* items to place */
    uint64_t nodes, nodes_max;
    bool spent;
};
/* Deeper than this the recursion would need megabytes of stack; such states do not occur with alignments. */
enum { ALIGNED_ITEMS_MAX = 4096 };

static int compare_types(const void *a, const void *b)
{
    const struct aligned_type *left = a;
    const struct aligned_type *right = b;
    if (left->size != right->size) {
        return left->size > right->size ? -1 : 1;
    }
    return left->align > right->align ? -1 : left->align < right->align;
}

/* The end of bin i in granules. */
static uint64_t bin_end(const struct aligned_search *search, size_t i)
{
    return search->problem->bins[i].end / search->problem->granule_bytes;
}

/* Fills from `at` in bin `bin`; waste is what may still be lost.  first: the first type that may come next,
 * because neighbours without alignment are kept in descending order. */
static bool aligned_fits(struct aligned_search *search, size_t bin, uint64_t at, uint64_t waste, size_t first);
static bool aligned_bin_fits(struct aligned_search *search, size_t bin, uint64_t at, uint64_t waste, size_t first)
{
    const uint64_t end = bin_end(search, bin);
    for (size_t i = 0; i < search->type_count && !search->spent; i++) {
        struct aligned_type *type = &search->types[i];
        const uint64_t start = (at + type->align - 1) & ~(type->align - 1);
        if (type->count == 0 || (type->align == 1 && i < first) || start > end || type->size > end - start ||
            start - at > waste) {
            continue;
        }
        type->count--;
        search->left--;
        const bool fits = aligned_fits(search, bin, start + type->size, waste - (start - at), type->align == 1 ? i : 0);
        type->count++;
        search->left++;
        if (fits) {
            return true;
        }
    }
    return false;
}

/* Closing a bin is a step of the loop: only items make the recursion deeper, for bins there may be many more. */
static bool aligned_fits(struct aligned_search *search, size_t bin, uint64_t at, uint64_t waste, size_t first)
{
    if (search->left == 0) {
        return true;
    }
    for (;;) {
        if (search->nodes++ >= search->nodes_max) {
            search->spent = true;
        }
        if (search->spent) {
            return false;
        }
        if (aligned_bin_fits(search, bin, at, waste, first)) {
            return true;
        }
        const uint64_t lost = bin_end(search, bin) - at;
        if (search->spent || bin + 1 == search->problem->bin_count || lost > waste) {
            return false;
        }
        waste -= lost;
        first = 0;
        at = search->problem->bins[++bin].start / search->problem->granule_bytes;
    }
}

static void add_type(struct aligned_search *search, const struct packing_item *item)
{
    const uint64_t granule = search->problem->granule_bytes;
    const struct aligned_type type = {item->size_bytes / granule, item->align_bytes / granule, 1};
    for (size_t i = 0; i < search->type_count; i++) {
        if (compare_types(&search->types[i], &type) == 0) {
            search->types[i].count++;
            return;
        }
    }
    search->types[search->type_count++] = type;
}

enum packing_result packing_search_aligned(const struct packing_problem *problem, uint64_t slack, uint64_t *nodes)
{
    struct aligned_search search = {.problem = problem, .left = problem->item_count, .nodes_max = problem->nodes_max};
    if (problem->bin_count == 0 || problem->item_count > ALIGNED_ITEMS_MAX) {
        return PACKING_UNKNOWN;
    }
    search.types = malloc(problem->item_count * sizeof *search.types);
    CHECK(search.types != NULL);
    for (size_t i = 0; i < problem->item_count; i++) {
        add_type(&search, &problem->items[i]);
    }
    qsort(search.types, search.type_count, sizeof *search.types, compare_types);
    const bool fits = aligned_fits(&search, 0, problem->bins[0].start / problem->granule_bytes, slack, 0);
    free(search.types);
    *nodes += search.nodes;
    return fits ? PACKING_FITS : search.spent ? PACKING_UNKNOWN : PACKING_NONE;
}
