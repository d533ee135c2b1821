#include "tests/harness/packing_sums.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

static int compare_lengths(const void *a, const void *b)
{
    const struct packing_bin *left = a;
    const struct packing_bin *right = b;
    const uint64_t left_length = left->end - left->start;
    const uint64_t right_length = right->end - right->start;
    return left_length < right_length ? -1 : left_length > right_length;
}

/* Item by item: what was a sum before, and the same with this item. */
static char *find_sums(const struct packing_problem *problem, uint64_t unit, uint64_t longest)
{
    const size_t count = (size_t)(longest / unit) + 1;
    char *is_sum = calloc(count, 1);
    CHECK(is_sum != NULL);
    is_sum[0] = 1;
    for (size_t i = 0; i < problem->item_count; i++) {
        const uint64_t size_bytes = problem->items[i].size_bytes;
        const size_t size = (size_t)(size_bytes / unit);
        for (size_t sum = count; size_bytes <= longest && sum-- > size;) {
            is_sum[sum] = (char)(is_sum[sum] | is_sum[sum - size]);
        }
    }
    return is_sum;
}

static bool has_common_unit(const struct packing_problem *problem, uint64_t unit, uint64_t longest)
{
    bool has_unit = unit > 0 && unit % problem->granule_bytes == 0;
    for (size_t i = 0; i < problem->item_count && has_unit; i++) {
        const uint64_t size = problem->items[i].size_bytes;
        has_unit = size > longest || size % unit == 0;
    }
    return has_unit;
}

bool packing_fills_hold(const struct packing_problem *problem, const struct packing_fills *fills)
{
    const size_t bin_count = (size_t)fills->bins;
    const uint64_t unit = fills->unit_bytes;
    uint64_t lost = 0;
    uint64_t slack = 0;
    if (bin_count == 0 || bin_count > problem->bin_count) {
        return false;
    }
    struct packing_bin *bins = calloc(problem->bin_count, sizeof *bins);
    CHECK(bins != NULL);
    memcpy(bins, problem->bins, problem->bin_count * sizeof *bins);
    qsort(bins, problem->bin_count, sizeof *bins, compare_lengths);
    const uint64_t longest = bins[bin_count - 1].end - bins[bin_count - 1].start;
    if (!has_common_unit(problem, unit, longest)) {
        free(bins);
        return false;
    }
    char *is_sum = find_sums(problem, unit, longest);
    for (size_t i = 0; i < problem->bin_count; i++) {
        const uint64_t length = bins[i].end - bins[i].start;
        slack += length;
        if (i < bin_count) {
            size_t sum = (size_t)(length / unit);
            while (!is_sum[sum]) {
                sum--;
            }
            lost += length - sum * unit;
        }
    }
    for (size_t i = 0; i < problem->item_count; i++) {
        slack -= problem->items[i].size_bytes;
    }
    free(is_sum);
    free(bins);
    return lost == fills->lost_bytes && lost > slack;
}
