#include "harness/base/trend.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

static int64_t find_largest_fall(const int64_t *bytes, size_t count)
{
    int64_t peak = 0;
    int64_t fall = 0;
    for (size_t i = 0; i < count; i++) {
        peak = bytes[i] > peak ? bytes[i] : peak;
        fall = peak - bytes[i] > fall ? peak - bytes[i] : fall;
    }
    return fall;
}

/* A valley is known when the curve has risen from it by swing bytes again.  ends has room for one
 * of every two places. */
static size_t find_valleys(const int64_t *bytes, size_t count, int64_t swing, uint32_t *ends)
{
    size_t found = 0;
    int64_t peak = 0;
    int64_t valley = INT64_MAX; /* while it falls: the least since the peak */
    uint32_t valley_at = 0;
    for (size_t i = 0; i < count; i++) {
        if (valley != INT64_MAX && bytes[i] >= valley + swing) {
            ends[found++] = valley_at;
            valley = INT64_MAX;
            peak = bytes[i];
        }
        peak = bytes[i] > peak ? bytes[i] : peak;
        if (bytes[i] <= peak - swing && bytes[i] < valley) {
            valley = bytes[i];
            valley_at = (uint32_t)i;
        }
    }
    if (valley != INT64_MAX) {
        ends[found++] = valley_at;
    }
    return found;
}

static uint64_t count_per_step(unsigned level)
{
    uint64_t count = 1;
    for (unsigned i = 0; i < level; i++) {
        count *= SWINGS_PER_STEP;
    }
    return count;
}

/* The longest run of cycles [i, j) whose ends rise by less than half a swing each. */
static size_t find_longest_settled(struct swings *swings, const int64_t *bytes)
{
    const __int128 most = swings->swing_bytes / 2; /* many times that is more than 64 bits hold */
    size_t longest = 0;
    __int128 *least_behind = calloc(swings->count + 1, sizeof *least_behind);
    CHECK(least_behind != NULL);
    least_behind[swings->count] = INT64_MAX;
    for (size_t i = swings->count; i-- > 0;) {
        const __int128 excess = bytes[swings->ends[i]] - (__int128)i * most;
        least_behind[i] = excess < least_behind[i + 1] ? excess : least_behind[i + 1];
    }
    for (size_t i = 0, j = 0; i < swings->count; i++) {
        const __int128 excess = bytes[swings->ends[i]] - (__int128)i * most;
        while (j < swings->count && least_behind[j] <= excess) {
            j++;
        }
        if (j > i + 1 && j - i - 1 > longest) {
            longest = j - i - 1;
            swings->settled_first = i + 1;
        }
    }
    free(least_behind);
    return longest;
}

void swings_init(struct swings *swings, const int64_t *bytes, size_t count)
{
    uint64_t steps = 0;
    *swings = (struct swings){.ends = calloc(count + 1, sizeof *swings->ends)};
    uint32_t *ends = calloc(count + 1, sizeof *ends);
    CHECK(swings->ends != NULL);
    CHECK(ends != NULL);
    int64_t swing = find_largest_fall(bytes, count) / 2;
    for (unsigned level = 0; level < SWINGS_LEVEL_COUNT && swing > 0; level++) {
        const size_t found = find_valleys(bytes, count, swing, ends);
        if (found / count_per_step(level) > steps) {
            steps = found / count_per_step(level);
            memcpy(swings->ends, ends, found * sizeof *ends);
            swings->count = found;
            swings->level = level;
            swings->swing_bytes = (uint64_t)swing;
        }
        swing /= SWINGS_LEVEL_FACTOR;
    }
    swings->settled_count = swings_count_steps(swings, find_longest_settled(swings, bytes));
    free(ends);
}

void swings_deinit(struct swings *swings)
{
    free(swings->ends);
    *swings = (struct swings){0};
}

uint64_t swings_count_steps(const struct swings *swings, size_t cycle_count)
{
    return cycle_count / count_per_step(swings->level);
}
