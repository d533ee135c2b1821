#include "tests/harness/packing/packing_proof.h"

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

/* Takes up to `count` items of one size: used[sum] is how many of them a new sum has at least. */
static void add_equal_items(char *is_sum, unsigned *used, size_t sum_count, size_t size,
                            size_t count)
{
    memset(used, 0, sum_count * sizeof *used);
    for (size_t sum = size; sum < sum_count; sum++) {
        if (!is_sum[sum] && is_sum[sum - size] && used[sum - size] < count) {
            is_sum[sum] = 1;
            used[sum] = used[sum - size] + 1;
        }
    }
}

static char *find_sums(const struct packing_problem *problem, uint64_t unit, uint64_t longest)
{
    const size_t sum_count = (size_t)(longest / unit) + 1;
    char *is_sum = calloc(sum_count, 1);
    unsigned *used = calloc(sum_count, sizeof *used);
    CHECK(is_sum != NULL);
    CHECK(used != NULL);
    is_sum[0] = 1;
    for (size_t i = 0, count = 0; i < problem->item_count; i += count) {
        const uint64_t size = problem->items[i].size_bytes;
        for (count = 1;
             i + count < problem->item_count && problem->items[i + count].size_bytes == size;) {
            count++;
        }
        if (size <= longest) {
            add_equal_items(is_sum, used, sum_count, (size_t)(size / unit), count);
        }
    }
    free(used);
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
