#include "harness/packing_search.h"

#include "harness/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare_descending(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left > right ? -1 : left < right;
}

static uint64_t sum_of(const uint64_t *values, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}

/* --- quick witnesses ------------------------------------------------------------------------ */

enum greedy { GREEDY_BEST_FIT, GREEDY_WORST_FIT, GREEDY_FIRST_FIT };

static size_t greedy_choose(const uint64_t *room, size_t bin_count, uint64_t item, enum greedy greedy)
{
    size_t chosen = bin_count;
    for (size_t i = 0; i < bin_count; i++) {
        if (room[i] < item) {
            continue;
        }
        if (greedy == GREEDY_FIRST_FIT) {
            return i;
        }
        const bool is_better = chosen == bin_count ||
                               (greedy == GREEDY_BEST_FIT ? room[i] < room[chosen] : room[i] > room[chosen]);
        chosen = is_better ? i : chosen;
    }
    return chosen;
}

static bool greedy_fits(const struct sizes *sizes, enum greedy greedy, uint64_t *room)
{
    memcpy(room, sizes->bins, sizes->bin_count * sizeof *room);
    for (size_t i = 0; i < sizes->item_count; i++) {
        const size_t bin = greedy_choose(room, sizes->bin_count, sizes->items[i], greedy);
        if (bin == sizes->bin_count) {
            return false;
        }
        room[bin] -= sizes->items[i];
    }
    return true;
}

/* --- the bound by subset sums ---------------------------------------------------------------- */

/* One set of reachable sums takes a bit per unit: 16 MiB at most, a 64 GiB bin in granules of 512 bytes. */
enum { SUBSET_SUM_MAX = 1 << 27 };

/* set |= set << count, in place; word_count words. */
static void shift_into(uint64_t *set, size_t word_count, uint64_t count)
{
    const size_t words = count / 64;
    const unsigned bits = count % 64;
    for (size_t i = word_count; i-- > words;) {
        uint64_t shifted = set[i - words] << bits;
        if (bits > 0 && i > words) {
            shifted |= set[i - words - 1] >> (64 - bits);
        }
        set[i] |= shifted;
    }
}

/* The most of a bin of `capacity` that any choice of items fills; set is the reachable sums. */
static uint64_t best_fill(const uint64_t *set, uint64_t capacity)
{
    uint64_t fill = capacity;
    while ((set[fill / 64] >> (fill % 64) & 1) == 0) {
        fill--; /* sum 0 is always reachable */
    }
    return fill;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Adds `count` equal items of `size` units to the reachable sums: as 1, 2, 4, … of them at once and the
 * rest, which together reach every number of them. */
static void reach_with(uint64_t *set, size_t word_count, uint64_t size, uint64_t count, uint64_t largest)
{
    for (uint64_t together = 1; count > 0; together *= 2) {
        const uint64_t taken = together < count ? together : count;
        if (size > largest / taken) {
            return; /* more than every bin holds */
        }
        shift_into(set, word_count, size * taken);
        count -= taken;
    }
}

/* Each bin alone wastes at least what no choice of items can fill; when that is more than the slack, no
 * packing exists. */
static bool subset_sums_refute(const struct sizes *sizes)
{
    const uint64_t smallest = sizes->items[sizes->item_count - 1];
    uint64_t unit = 0;
    for (size_t i = 0; i < sizes->item_count; i++) {
        unit = greatest_divisor(sizes->items[i], unit);
    }
    const uint64_t largest = sizes->bins[0] / unit;
    /* No bin is sure to waste as much as the smallest item, as a rule, so a large slack is left to the search. */
    if (largest >= SUBSET_SUM_MAX || sizes->slack / smallest >= sizes->bin_count) {
        return false;
    }
    const size_t word_count = (size_t)largest / 64 + 1;
    uint64_t *set = calloc(word_count, sizeof *set);
    CHECK(set != NULL);
    set[0] = 1;
    for (size_t i = 0, next; i < sizes->item_count; i = next) {
        for (next = i + 1; next < sizes->item_count && sizes->items[next] == sizes->items[i]; next++) {
        }
        reach_with(set, word_count, sizes->items[i] / unit, next - i, largest);
    }
    uint64_t waste = 0;
    for (size_t i = 0; i < sizes->bin_count; i++) {
        waste += sizes->bins[i] - best_fill(set, sizes->bins[i] / unit) * unit;
    }
    free(set);
    return waste > sizes->slack;
}

/* --- all together ---------------------------------------------------------------------------- */

/* Cheapest first; sets what settled it. */
static enum packing_result solve_sizes(const struct sizes *sizes, uint64_t nodes_max, struct packing_answer *answer)
{
    if (sizes->item_count == 0) {
        answer->method = "nothing to place";
        return PACKING_FITS;
    }
    if (sizes->bin_count == 0 || sizes->items[0] > sizes->bins[0]) {
        answer->method = "largest item";
        return PACKING_NONE;
    }
    uint64_t *room = malloc(sizes->bin_count * sizeof *room);
    CHECK(room != NULL);
    enum packing_result result = PACKING_FITS;
    if (greedy_fits(sizes, GREEDY_BEST_FIT, room)) {
        answer->method = "best fit";
    } else if (greedy_fits(sizes, GREEDY_WORST_FIT, room)) {
        answer->method = "worst fit";
    } else if (greedy_fits(sizes, GREEDY_FIRST_FIT, room)) {
        answer->method = "first fit";
    } else if (subset_sums_refute(sizes)) {
        answer->method = "subset sums";
        result = PACKING_NONE;
    } else {
        /* A quarter of the budget is plenty for what the first search is good at. */
        answer->method = "search";
        result = packing_search_items(sizes, room, nodes_max / 4, &answer->nodes);
        if (result == PACKING_UNKNOWN) {
            answer->method = "search bin by bin";
            result = packing_search_bins(sizes, nodes_max - nodes_max / 4, &answer->nodes);
        }
    }
    free(room);
    return result;
}

/* pad_alignments: as if each aligned item might need the most room that alignment can cost. */
static void fill_sizes(const struct packing_problem *problem, bool pad_alignments, struct sizes *sizes)
{
    const uint64_t granule = problem->granule_bytes;
    sizes->item_count = problem->item_count;
    for (size_t i = 0; i < problem->item_count; i++) {
        const struct packing_item *item = &problem->items[i];
        const uint64_t padding = pad_alignments ? item->align_bytes - granule : 0;
        sizes->items[i] = (item->size_bytes + padding) / granule;
    }
    sizes->bin_count = 0;
    for (size_t i = 0; i < problem->bin_count; i++) {
        const uint64_t capacity = (problem->bins[i].end - problem->bins[i].start) / granule;
        if (capacity > 0) {
            sizes->bins[sizes->bin_count++] = capacity;
        }
    }
    qsort(sizes->items, sizes->item_count, sizeof *sizes->items, compare_descending);
    qsort(sizes->bins, sizes->bin_count, sizeof *sizes->bins, compare_descending);
}

static enum packing_result solve_padded(const struct packing_problem *problem, bool pad_alignments,
                                        struct sizes *sizes, struct packing_answer *answer)
{
    fill_sizes(problem, pad_alignments, sizes);
    const uint64_t need = sum_of(sizes->items, sizes->item_count);
    const uint64_t have = sum_of(sizes->bins, sizes->bin_count);
    if (need > have) {
        answer->method = "volume";
        return PACKING_NONE;
    }
    sizes->slack = have - need;
    return solve_sizes(sizes, problem->nodes_max, answer);
}

static bool has_alignments(const struct packing_problem *problem)
{
    for (size_t i = 0; i < problem->item_count; i++) {
        if (problem->items[i].align_bytes > problem->granule_bytes) {
            return true;
        }
    }
    return false;
}

void packing_solve(const struct packing_problem *problem, struct packing_answer *answer)
{
    *answer = (struct packing_answer){.method = ""};
    struct sizes sizes = {0};
    sizes.items = malloc((problem->item_count + 1) * sizeof *sizes.items);
    sizes.bins = malloc((problem->bin_count + 1) * sizeof *sizes.bins);
    CHECK(sizes.items != NULL);
    CHECK(sizes.bins != NULL);
    answer->result = solve_padded(problem, false, &sizes, answer);
    /* Without alignments the question was only relaxed: what fits with room to align anywhere fits truly,
     * and what lies between is searched place by place. */
    if (answer->result == PACKING_FITS && has_alignments(problem)) {
        const uint64_t slack = sizes.slack;
        answer->result = solve_padded(problem, true, &sizes, answer);
        if (answer->result != PACKING_FITS) {
            answer->result = packing_search_aligned(problem, slack, &answer->nodes);
            answer->method = "search with alignments";
        }
    }
    free(sizes.items);
    free(sizes.bins);
}
