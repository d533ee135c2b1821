#include "diagnosis/private/findings.h"

#include "harness/base/order.h"

#include <string.h>

const uint32_t survivors_parts[SURVIVORS_PART_COUNT] = {16, 8, 4};

enum {
    COUNT_MIN = 16,
    EVEN_WINDOWS_MIN = 12,
    DEATH_DIVISOR = 6, /* so many survivors for each that was freed late, at least */
    DEATH_DIVISOR_RISING = 3,
    LATE_SHARE_MIN =
        10, /* percent of the survivors that the last quarter of the windows must have */
    HALF_SHARE_MIN =
        35, /* percent that the second half must have, if chance does not explain less */
    RECENT_SHARE_MIN = 40, /* percent of the rate in the windows that must still come after them */
    OUTLIER_FACTOR = 3
};

static uint64_t find_old_age(uint64_t op_count, uint32_t part)
{
    uint64_t age = 1;
    while (age * part < op_count) {
        age *= 2;
    }
    return age;
}

static void begin_survivors(const struct evidence *evidence, uint8_t tag, uint32_t part,
                            struct survivors *survivors)
{
    const uint64_t op_count = evidence->history->op_count;
    const uint32_t *deaths = evidence->history->hosts[evidence->host].deaths[tag];
    memset(survivors, 0, sizeof *survivors);
    survivors->old_age = find_old_age(op_count, part);
    survivors->first_window_op = survivors->end_window_op = op_count / 8;
    if (op_count > survivors->old_age && op_count - survivors->old_age > op_count / 8) {
        survivors->end_window_op = op_count - survivors->old_age;
    }
    for (uint32_t age = 0; age < HISTORY_AGE_COUNT; age++) {
        survivors->old_death_count += history_age_of(age) >= survivors->old_age ? deaths[age] : 0;
    }
}

static void count_block(struct survivors *survivors, const struct evidence_block *block)
{
    const uint64_t first = survivors->first_window_op;
    const uint64_t end = survivors->end_window_op;
    if (block->op >= end) {
        survivors->recent_count++;
        return;
    }
    if (block->op < first) {
        return;
    }
    survivors->counts[(block->op - first) * SURVIVORS_WINDOW_COUNT / (end - first)]++;
    if (survivors->count == 0 || block->size_bytes < survivors->least_bytes) {
        survivors->least_bytes = block->size_bytes;
    }
    if (block->size_bytes > survivors->most_bytes) {
        survivors->most_bytes = block->size_bytes;
    }
    if (survivors->count == 0 || block->op < survivors->first_op) {
        survivors->first_op = block->op;
    }
    survivors->count++;
    survivors->bytes += block->size_bytes;
}

void survivors_take(const struct evidence *evidence, uint32_t part,
                    struct survivors survivors[OP_TAG_COUNT])
{
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        begin_survivors(evidence, (uint8_t)tag, part, &survivors[tag]);
    }
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->state == BLOCK_LIVE && block->kind != BLOCK_RETIRED) {
            count_block(&survivors[block->tag], block);
        }
    }
}

/* A phase that begins in some window brings many that stay, and says nothing about the others: no
 * window counts for more than three times the middle one, and three.  Where most windows have none
 * at all, all is as it is. */
static void cut_outliers(const struct survivors *survivors, uint64_t counts[SURVIVORS_WINDOW_COUNT])
{
    memcpy(counts, survivors->counts, sizeof survivors->counts);
    const uint64_t middle = median_of_numbers(counts, SURVIVORS_WINDOW_COUNT);
    const uint64_t most = middle == 0 ? UINT64_MAX : (middle + 1) * OUTLIER_FACTOR;
    for (uint32_t i = 0; i < SURVIVORS_WINDOW_COUNT; i++) {
        counts[i] = survivors->counts[i] < most ? survivors->counts[i] : most;
    }
}

static uint64_t sum_counts(const uint64_t *counts, uint32_t first, uint32_t end)
{
    uint64_t sum = 0;
    for (uint32_t i = first; i < end; i++) {
        sum += counts[i];
    }
    return sum;
}

/* True if the blocks spread as evenly as if at least so many windows had equal shares.  A random
 * walk leaves clumps of blocks from when it last came up.  So half of all windows since the first
 * must have their share, unless the floor rises, which speaks for a leak. */
static bool is_even(const uint64_t *counts, uint64_t count, bool floor_rises)
{
    uint64_t squares = 0;
    uint32_t first = 0;
    while (first < SURVIVORS_WINDOW_COUNT - 1 && counts[first] == 0) {
        first++;
    }
    for (uint32_t i = 0; i < SURVIVORS_WINDOW_COUNT; i++) {
        squares += counts[i] * counts[i];
    }
    const uint32_t half = (SURVIVORS_WINDOW_COUNT - first) / 2;
    const uint32_t least = floor_rises || half < EVEN_WINDOWS_MIN ? EVEN_WINDOWS_MIN : half;
    return count * count >= squares * least;
}

/* True if fewer come in the second half.  At a steady rate both halves have equal shares, up to 2.5
 * times the root of the count between them. */
static bool is_getting_rarer(const uint64_t *counts, uint64_t count)
{
    const uint64_t second = sum_counts(counts, SURVIVORS_WINDOW_COUNT / 2, SURVIVORS_WINDOW_COUNT);
    const uint64_t first = count - second;
    return second * 100 < count * HALF_SHARE_MIN &&
           (first - second) * (first - second) * 4 > count * 25;
}

/* True if blocks still come: at a steady rate, after the windows as often as in them. */
static bool is_still_coming(const struct survivors *survivors, const uint64_t *counts,
                            uint64_t count)
{
    const uint64_t late = sum_counts(counts, SURVIVORS_WINDOW_COUNT * 3 / 4,
                                     SURVIVORS_WINDOW_COUNT);
    const double window_length = (double)(survivors->end_window_op - survivors->first_window_op);
    const double due = (double)count * (double)survivors->old_age / window_length;
    return late * 100 >= count * LATE_SHARE_MIN &&
           (double)survivors->recent_count * 100 >= due * RECENT_SHARE_MIN;
}

bool survivors_pile_up(const struct survivors *survivors, bool floor_rises)
{
    uint64_t counts[SURVIVORS_WINDOW_COUNT];
    cut_outliers(survivors, counts);
    const uint64_t count = sum_counts(counts, 0, SURVIVORS_WINDOW_COUNT);
    const uint64_t divisor = floor_rises ? DEATH_DIVISOR_RISING : DEATH_DIVISOR;
    return count >= COUNT_MIN && is_even(counts, count, floor_rises) &&
           !is_getting_rarer(counts, count) && is_still_coming(survivors, counts, count) &&
           survivors->old_death_count * divisor <= count;
}
