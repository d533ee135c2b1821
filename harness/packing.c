#include "harness/packing.h"

#include "harness/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The problem without addresses: sizes and capacities in granules, both descending. */
struct sizes {
    uint64_t *items;
    size_t item_count;
    uint64_t *bins;
    size_t bin_count;
    uint64_t slack; /* capacities less items */
};

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

/* --- branch and bound ------------------------------------------------------------------------ */

/* Items are placed largest first, but the most frequent size last: when only equal items are left, counting
 * how many each bin takes decides.  Each item tries bins in the order of what room is left there.  Equal items
 * go to bins in ascending order, equal rooms are tried once, an exact fit is the only branch (swapping it in
 * never hurts), and a branch ends when the room that no remaining item can use exceeds the slack. */
struct search {
    const struct sizes *sizes;
    uint64_t *items;    /* in the order of placement; equal ones are neighbours */
    uint64_t *smallest; /* of items i and after; item_count + 1 of them, the last one 0 */
    uint64_t *room;     /* by bin */
    uint32_t *placed;   /* by item: its bin */
    size_t last_run;    /* items from here on are equal */
    uint64_t nodes, nodes_max;
};

/* Fewer equal items are better placed in their turn: large ones first leaves the fewest ways. */
enum { LAST_RUN_MIN = 8 };

/* Moves the longest run of equal items to the end if it is long, the others stay descending. */
static void order_items(struct search *search)
{
    const struct sizes *sizes = search->sizes;
    size_t first = sizes->item_count - 1;
    size_t length = 1;
    for (size_t i = 0, next; i < sizes->item_count; i = next) {
        for (next = i + 1; next < sizes->item_count && sizes->items[next] == sizes->items[i]; next++) {
        }
        if (next - i >= length && next - i >= LAST_RUN_MIN) {
            first = i;
            length = next - i;
        }
    }
    const size_t after = sizes->item_count - first - length;
    memcpy(search->items, sizes->items, first * sizeof *search->items);
    memcpy(&search->items[first], &sizes->items[first + length], after * sizeof *search->items);
    memcpy(&search->items[first + after], &sizes->items[first], length * sizeof *search->items);
    search->last_run = first + after;
    uint64_t smallest = UINT64_MAX;
    search->smallest[sizes->item_count] = 0;
    for (size_t i = sizes->item_count; i-- > 0;) {
        smallest = search->items[i] < smallest ? search->items[i] : smallest;
        search->smallest[i] = smallest;
    }
}

static bool waste_is_too_large(const struct search *search, size_t item)
{
    const struct sizes *sizes = search->sizes;
    const uint64_t smallest = search->smallest[item];
    uint64_t waste = 0;
    for (size_t i = 0; i < sizes->bin_count; i++) {
        waste += search->room[i] < smallest ? search->room[i] : 0;
    }
    return waste > sizes->slack;
}

/* Whether the equal items of the last run fit into what room is left. */
static bool last_run_fits(const struct search *search)
{
    const struct sizes *sizes = search->sizes;
    const uint64_t size = search->items[search->last_run];
    uint64_t takes = 0;
    for (size_t i = 0; i < sizes->bin_count; i++) {
        takes += search->room[i] / size;
    }
    return takes >= sizes->item_count - search->last_run;
}

/* The bin with the next larger (room, index) than the last one tried that takes the item; bin_count when
 * there is none.  `after` is bin_count at the first call. */
static size_t next_bin(const struct search *search, size_t item, size_t after)
{
    const struct sizes *sizes = search->sizes;
    const uint64_t size = search->items[item];
    const bool repeats = item > 0 && search->items[item - 1] == size;
    const size_t first = repeats ? search->placed[item - 1] : 0;
    const uint64_t room_after = after == sizes->bin_count ? 0 : search->room[after];
    size_t chosen = sizes->bin_count;
    for (size_t i = first; i < sizes->bin_count; i++) {
        const uint64_t room = search->room[i];
        if (room < size || room <= room_after) {
            continue;
        }
        if (chosen == sizes->bin_count || room < search->room[chosen]) {
            chosen = i;
        }
    }
    return chosen;
}

/* Not within a run of equal items: there the ascending order of bins already cuts the branches on the
 * other side of an exact fit, and both cuts together would lose packings. */
static bool exact_fit_was_tried(const struct search *search, size_t item, size_t bin)
{
    const uint64_t size = search->items[item];
    const bool is_in_run = (item > 0 && search->items[item - 1] == size) ||
                           (item + 1 < search->sizes->item_count && search->items[item + 1] == size);
    return !is_in_run && search->room[bin] == size;
}

/* Depth-first without recursion: item is the depth, placed[item] the branch taken there. */
static enum packing_result search_run(struct search *search)
{
    const struct sizes *sizes = search->sizes;
    const size_t none = sizes->bin_count;
    size_t item = 0;
    size_t after = none;
    for (;;) {
        const bool at_last_run = item == search->last_run;
        if (at_last_run && last_run_fits(search)) {
            return PACKING_FITS;
        }
        const bool stop = at_last_run || (after != none && exact_fit_was_tried(search, item, after));
        const size_t bin = stop ? none : next_bin(search, item, after);
        if (bin == none) {
            if (item == 0) {
                return PACKING_NONE;
            }
            item--;
            after = search->placed[item];
            search->room[after] += search->items[item];
            continue;
        }
        if (search->nodes++ == search->nodes_max) {
            return PACKING_UNKNOWN;
        }
        search->placed[item] = (uint32_t)bin;
        search->room[bin] -= search->items[item];
        after = none;
        if (waste_is_too_large(search, item + 1)) {
            search->room[bin] += search->items[item];
            after = bin;
            continue;
        }
        item++;
    }
}

static enum packing_result search_packing(const struct sizes *sizes, uint64_t *room, uint64_t nodes_max,
                                          uint64_t *nodes)
{
    struct search search = {.sizes = sizes, .room = room, .nodes_max = nodes_max};
    search.placed = malloc((sizes->item_count + 1) * sizeof *search.placed);
    search.items = malloc((sizes->item_count + 1) * sizeof *search.items);
    search.smallest = malloc((sizes->item_count + 1) * sizeof *search.smallest);
    CHECK(search.placed != NULL);
    CHECK(search.items != NULL);
    CHECK(search.smallest != NULL);
    order_items(&search);
    memcpy(room, sizes->bins, sizes->bin_count * sizeof *room);
    const enum packing_result result = search_run(&search);
    free(search.placed);
    free(search.items);
    free(search.smallest);
    *nodes += search.nodes;
    return result;
}

/* --- bin by bin ------------------------------------------------------------------------------ */

/* The other way round, which is strong where the slack is small: bins are filled one after the other, the
 * smallest first, each with a choice of items that wastes no more than the slack that is left; the largest bin
 * then takes all the rest.  Choices are made item by item, largest first, and end where the items that are
 * left cannot fill the bin; of equal items the first ones are taken. */
struct filling {
    const uint64_t *items; /* descending */
    const uint64_t *bins;  /* ascending */
    size_t item_count, bin_count;
    bool *used;       /* by item */
    uint64_t *fills;  /* bin_count rows of item_count + 1: what unused items from here on could add */
    size_t *firsts;   /* by bin: its first item, for the order of equal bins */
    uint64_t nodes, nodes_max;
    bool spent;
};
/* The rows take 8 bytes for each item and bin. */
enum { FILLING_ITEMS_MAX = 512, FILLING_BINS_MAX = 64 };

static bool fill_bins(struct filling *filling, size_t bin, uint64_t slack);

/* Goes on with bin `bin`, of which `room` is left, at item i; slack is what may still be wasted in all. */
static bool fill_bin(struct filling *filling, size_t bin, size_t i, uint64_t room, uint64_t slack)
{
    const uint64_t *fill = &filling->fills[bin * (filling->item_count + 1)];
    if (filling->spent || filling->nodes++ >= filling->nodes_max) {
        filling->spent = true;
        return false;
    }
    while (i < filling->item_count && (filling->used[i] || filling->items[i] > room)) {
        i++;
    }
    if (room > slack && room - slack > fill[i]) {
        return false;
    }
    if (i == filling->item_count) {
        return fill_bins(filling, bin + 1, slack - room);
    }
    const size_t first = filling->firsts[bin];
    filling->used[i] = true;
    filling->firsts[bin] = first < i ? first : i;
    const bool fits = fill_bin(filling, bin, i + 1, room - filling->items[i], slack);
    filling->used[i] = false;
    filling->firsts[bin] = first;
    if (fits) {
        return true;
    }
    size_t next = i + 1;
    while (next < filling->item_count && filling->items[next] == filling->items[i]) {
        next++;
    }
    return fill_bin(filling, bin, next, room, slack);
}

static bool fill_bins(struct filling *filling, size_t bin, uint64_t slack)
{
    if (bin + 1 == filling->bin_count) {
        return true; /* what is left is no more than the last bin and the slack add up to */
    }
    /* Equal bins in the order of their first items: the others are the same packings again. */
    if (bin >= 2 && filling->bins[bin - 1] == filling->bins[bin - 2] &&
        filling->firsts[bin - 1] < filling->firsts[bin - 2]) {
        return false;
    }
    uint64_t *fill = &filling->fills[bin * (filling->item_count + 1)];
    fill[filling->item_count] = 0;
    for (size_t i = filling->item_count; i-- > 0;) {
        const bool counts = !filling->used[i] && filling->items[i] <= filling->bins[bin];
        fill[i] = fill[i + 1] + (counts ? filling->items[i] : 0);
    }
    filling->firsts[bin] = filling->item_count;
    return fill_bin(filling, bin, 0, filling->bins[bin], slack);
}

static enum packing_result search_bin_by_bin(const struct sizes *sizes, uint64_t nodes_max, uint64_t *nodes)
{
    if (sizes->item_count > FILLING_ITEMS_MAX || sizes->bin_count > FILLING_BINS_MAX) {
        return PACKING_UNKNOWN;
    }
    const size_t count = sizes->bin_count;
    struct filling filling = {.items = sizes->items, .item_count = sizes->item_count, .bin_count = count,
                              .nodes_max = nodes_max};
    uint64_t *ascending = malloc(count * sizeof *ascending);
    filling.used = calloc(sizes->item_count, sizeof *filling.used);
    filling.fills = malloc(count * (sizes->item_count + 1) * sizeof *filling.fills);
    filling.firsts = malloc(count * sizeof *filling.firsts);
    CHECK(ascending != NULL);
    CHECK(filling.used != NULL);
    CHECK(filling.fills != NULL);
    CHECK(filling.firsts != NULL);
    for (size_t i = 0; i < count; i++) {
        ascending[i] = sizes->bins[count - 1 - i];
    }
    filling.bins = ascending;
    const bool fits = fill_bins(&filling, 0, sizes->slack);
    free(ascending);
    free(filling.used);
    free(filling.fills);
    free(filling.firsts);
    *nodes += filling.nodes;
    return fits ? PACKING_FITS : filling.spent ? PACKING_UNKNOWN : PACKING_NONE;
}

/* --- alignments ------------------------------------------------------------------------------ */

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

static enum packing_result search_aligned(const struct packing_problem *problem, uint64_t slack, uint64_t *nodes)
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
        result = search_packing(sizes, room, nodes_max / 4, &answer->nodes);
        if (result == PACKING_UNKNOWN) {
            answer->method = "search bin by bin";
            result = search_bin_by_bin(sizes, nodes_max - nodes_max / 4, &answer->nodes);
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
            answer->result = search_aligned(problem, slack, &answer->nodes);
            answer->method = "search with alignments";
        }
    }
    free(sizes.items);
    free(sizes.bins);
}
