#include "tests/harness/packing/packing_proof.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void read_question(struct walk *walk, const struct packing_problem *problem)
{
    CHECK(problem->item_count <= PROOF_ITEMS_MAX);
    CHECK(problem->bin_count <= PROOF_BINS_MAX);
    *walk = (struct walk){
        .problem = problem, .item_count = problem->item_count, .bin_count = problem->bin_count};
    for (size_t i = 0; i < walk->bin_count; i++) {
        walk->bins[i] = (problem->bins[i].end - problem->bins[i].start) / problem->granule_bytes;
        walk->slack += walk->bins[i];
    }
    for (size_t i = 0; i < walk->item_count; i++) {
        walk->items[i] = problem->items[i].size_bytes / problem->granule_bytes;
        walk->slack -= walk->items[i];
    }
    qsort(walk->bins, walk->bin_count, sizeof *walk->bins, compare_numbers);
    qsort(walk->items, walk->item_count, sizeof *walk->items, compare_numbers);
}

/* --- bounds --- */

static bool rounding_holds(const struct walk *walk, uint64_t unit)
{
    uint64_t need = 0;
    uint64_t have = 0;
    for (size_t i = 0; unit > 0 && i < walk->item_count; i++) {
        need += walk->items[i] / unit;
    }
    for (size_t i = 0; unit > 0 && i < walk->bin_count; i++) {
        have += walk->bins[i] / unit;
    }
    return need > have;
}

static bool volume_holds(const struct packing_problem *problem)
{
    uint64_t need = 0;
    uint64_t have = 0;
    for (size_t i = 0; i < problem->item_count; i++) {
        need += problem->items[i].size_bytes;
    }
    for (size_t i = 0; i < problem->bin_count; i++) {
        have += problem->bins[i].end - problem->bins[i].start;
    }
    return need > have;
}

/* --- all kinds --- */

static const char *refutation_fault(const struct packing *packing,
                                    const struct packing_problem *problem,
                                    const struct packing_answer *answer)
{
    static struct walk walk;
    read_question(&walk, problem);
    const uint64_t number = answer->number / problem->granule_bytes;
    switch (answer->method) {
    case PACKING_BY_VOLUME:
        return volume_holds(problem) ? NULL : "the volumes do not refute";
    case PACKING_BY_LARGEST_ITEM:
        return walk.items[walk.item_count - 1] > walk.bins[walk.bin_count - 1]
                   ? NULL
                   : "the largest item has a bin";
    case PACKING_BY_ROUNDING:
        return rounding_holds(&walk, number) ? NULL : "the rounded volumes do not refute";
    case PACKING_BY_SEARCH:
    case PACKING_BY_SEARCH_ALIGNED:
        walk.letters = packing_log(packing, &walk.length);
        return walk_holds(&walk, answer->method == PACKING_BY_SEARCH, answer->number)
                   ? NULL
                   : "the log does not refute";
    case PACKING_BY_TABLE:
        return packing_table_holds(problem, answer->number) ? NULL : "the table does not refute";
    case PACKING_BY_PATTERNS:
        return packing_patterns_hold(problem, answer->number) ? NULL : "the patterns do not refute";
    case PACKING_BY_FILLS:
        return packing_fills_hold(problem, &answer->fills) ? NULL : "the fills do not refute";
    case PACKING_BY_NOTHING:
    case PACKING_BY_GREEDY:
    default:
        return "this method refutes nothing";
    }
}

struct range {
    uint64_t start, end;
};

static int compare_ranges(const void *a, const void *b)
{
    return compare_numbers(&((const struct range *)a)->start, &((const struct range *)b)->start);
}

static const char *placement_fault(const struct packing *packing,
                                   const struct packing_problem *problem)
{
    static struct range ranges[PROOF_ITEMS_MAX];
    for (size_t i = 0; i < problem->item_count; i++) {
        const uint64_t start = packing_address(packing, i);
        ranges[i] = (struct range){start, start + problem->items[i].size_bytes};
        if (start % problem->items[i].align_bytes != 0) {
            return "an item is not aligned";
        }
    }
    qsort(ranges, problem->item_count, sizeof *ranges, compare_ranges);
    size_t bin = 0;
    for (size_t i = 0; i < problem->item_count; i++) {
        while (bin < problem->bin_count && problem->bins[bin].end <= ranges[i].start) {
            bin++;
        }
        if (bin == problem->bin_count || ranges[i].start < problem->bins[bin].start ||
            ranges[i].end > problem->bins[bin].end) {
            return "an item is outside the bins";
        }
        if (i > 0 && ranges[i].start < ranges[i - 1].end) {
            return "two items overlap";
        }
    }
    return NULL;
}

const char *packing_proof_fault(const struct packing *packing,
                                const struct packing_problem *problem,
                                const struct packing_answer *answer)
{
    if (answer->result == PACKING_UNKNOWN) {
        return NULL;
    }
    return answer->result == PACKING_FITS ? placement_fault(packing, problem)
                                          : refutation_fault(packing, problem, answer);
}
