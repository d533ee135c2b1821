#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/align.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

/* Below this insertion is faster than counting digits. */
enum { INSERTION_MAX = 40, DIGIT_BITS = 8, DIGIT_COUNT = 1 << DIGIT_BITS };

static void sort_by_insertion(uint64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint64_t value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] < value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
}

/* One stable pass: descending by the digit at `shift`. */
static void sort_by_digit(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
    size_t starts[DIGIT_COUNT] = {0};
    for (size_t i = 0; i < count; i++) {
        starts[from[i] >> shift & (DIGIT_COUNT - 1)]++;
    }
    size_t start = 0;
    for (size_t digit = DIGIT_COUNT; digit-- > 0;) {
        const size_t length = starts[digit];
        starts[digit] = start;
        start += length;
    }
    for (size_t i = 0; i < count; i++) {
        to[starts[from[i] >> shift & (DIGIT_COUNT - 1)]++] = from[i];
    }
}

void packing_sort(uint64_t *values, uint64_t *spare, size_t count)
{
    if (count <= INSERTION_MAX) {
        sort_by_insertion(values, count);
        return;
    }
    uint64_t differs = 0;
    for (size_t i = 1; i < count; i++) {
        differs |= values[i] ^ values[0];
    }
    uint64_t *from = values;
    uint64_t *to = spare;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differs >> shift & (DIGIT_COUNT - 1)) != 0) {
            sort_by_digit(from, to, count, shift);
            uint64_t *const swapped = from;
            from = to;
            to = swapped;
        }
    }
    if (from != values) {
        memcpy(values, from, count * sizeof *values);
    }
}

size_t packing_run_end(const uint64_t *values, size_t count, size_t i)
{
    const uint64_t value = values[i];
    do {
        i++;
    } while (i < count && values[i] == value);
    return i;
}

/* --- a problem's items and bins --- */

/* What is sorted, by its keys; qsort passes no context: what an index stands for is beside it. */
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

struct packing_kind *packing_kinds_of_sizes(struct packing *packing, size_t *count)
{
    const struct packing_sizes *sizes = &packing->sizes;
    struct packing_kind *kinds = packing_take(packing, sizes->item_count, sizeof *kinds);
    *count = 0;
    for (size_t i = 0, end; i < sizes->item_count; i = end) {
        end = packing_run_end(sizes->items, sizes->item_count, i);
        kinds[(*count)++] = (struct packing_kind){
            .size = sizes->items[i], .count = end - i, .first = i};
    }
    return kinds;
}

struct packing_kind *packing_kinds_of_items(struct packing *packing,
                                            const struct packing_problem *problem, uint32_t **order,
                                            size_t *count)
{
    const size_t item_count = problem->item_count;
    struct indexed *items = packing_take(packing, item_count, sizeof *items);
    struct packing_kind *kinds = packing_take(packing, item_count, sizeof *kinds);
    *order = packing_take(packing, item_count, sizeof **order);
    *count = 0;
    for (size_t i = 0; i < item_count; i++) {
        const struct packing_item *item = &problem->items[i];
        items[i] = (struct indexed){item->size_bytes, ~item->align_bytes, (uint32_t)i};
    }
    qsort(items, item_count, sizeof *items, compare_descending);
    for (size_t i = 0; i < item_count; i++) {
        (*order)[i] = items[i].index;
        if (i > 0 && items[i].key == items[i - 1].key &&
            items[i].second_key == items[i - 1].second_key) {
            kinds[*count - 1].count++;
            continue;
        }
        kinds[(*count)++] = (struct packing_kind){.size = items[i].key / problem->granule_bytes,
                                                  .align = ~items[i].second_key /
                                                           problem->granule_bytes,
                                                  .count = 1,
                                                  .first = i};
    }
    return kinds;
}

/* The bins by length, then by address; shortest_first: those of equal length from above. */
static struct indexed *index_bins(struct packing *packing, const struct packing_problem *problem,
                                  bool shortest_first)
{
    struct indexed *bins = packing_take(packing, problem->bin_count, sizeof *bins);
    for (size_t i = 0; i < problem->bin_count; i++) {
        const struct packing_bin *bin = &problem->bins[i];
        const uint64_t length = bin->end - bin->start;
        bins[i] = (struct indexed){.key = shortest_first ? ~length : length,
                                   .second_key = shortest_first ? bin->start : 0,
                                   .index = (uint32_t)i};
    }
    qsort(bins, problem->bin_count, sizeof *bins, compare_descending);
    return bins;
}

struct packing_bin *packing_sort_bins(struct packing *packing,
                                      const struct packing_problem *problem)
{
    const struct indexed *sorted = index_bins(packing, problem, true);
    struct packing_bin *bins = packing_take(packing, problem->bin_count, sizeof *bins);
    for (size_t i = 0; i < problem->bin_count; i++) {
        bins[i] = problem->bins[sorted[i].index];
    }
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
    const struct indexed *bins = index_bins(packing, problem, false);
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
