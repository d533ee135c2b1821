#include "harness/oracle/packing/private/packing_search.h"

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

/* --- a problem's items and bins --- */

static int compare_items(const void *a, const void *b)
{
    const struct packing_sorted_item *left = a;
    const struct packing_sorted_item *right = b;
    return compare_then(compare_numbers(right->size, left->size),
                        compare_then(compare_numbers(left->align, right->align),
                                     compare_numbers(left->index, right->index)));
}

struct packing_sorted_item *packing_sort_items(struct packing *packing,
                                               const struct packing_problem *problem)
{
    struct packing_sorted_item *items = packing_take(packing, problem->item_count, sizeof *items);
    for (size_t i = 0; i < problem->item_count; i++) {
        items[i] = (struct packing_sorted_item){
            problem->items[i].size_bytes / problem->granule_bytes,
            problem->items[i].align_bytes / problem->granule_bytes, (uint32_t)i};
    }
    qsort(items, problem->item_count, sizeof *items, compare_items);
    return items;
}

static int compare_bins(const void *a, const void *b)
{
    const struct packing_bin *left = a;
    const struct packing_bin *right = b;
    return compare_then(compare_numbers(left->end - left->start, right->end - right->start),
                        compare_numbers(right->start, left->start));
}

struct packing_bin *packing_sort_bins(struct packing *packing,
                                      const struct packing_problem *problem)
{
    struct packing_bin *bins = packing_take(packing, problem->bin_count, sizeof *bins);
    memcpy(bins, problem->bins, problem->bin_count * sizeof *bins);
    qsort(bins, problem->bin_count, sizeof *bins, compare_bins);
    return bins;
}

size_t packing_run_end(const uint64_t *values, size_t count, size_t i)
{
    const uint64_t value = values[i];
    do {
        i++;
    } while (i < count && values[i] == value);
    return i;
}
