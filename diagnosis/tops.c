#include "diagnosis/private/findings.h"

#include "harness/base/check.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    GROUP_COUNT_MAX = 64, /* cycles are compared one by one up to here, then in groups */
    PAIR_PERCENT_MIN = 70,
    LATE_PAIR_PERCENT_MIN = 50,
    FLOOR_HALF_DIVISOR = 5, /* each half has at least this share of the rise of a floor */
    RISE_DIVISOR = 10 /* the last quarter is this share of what a step needs above the first */
};

/* The most and the least of each tag in each group of cycles. */
struct tops {
    uint64_t bytes[GROUP_COUNT_MAX][OP_TAG_COUNT];
    uint64_t floor_bytes[GROUP_COUNT_MAX][OP_TAG_COUNT];
    size_t group_count;
};

static size_t find_group(const struct cycles *cycles, const struct tops *tops, uint64_t cycle)
{
    return (size_t)(cycle - 1) * tops->group_count / (cycles->swings.count - 1);
}

static void note_group(struct tops *tops, size_t group, const uint64_t *tag_bytes, uint8_t tag)
{
    uint64_t *top = &tops->bytes[group][tag];
    uint64_t *floor = &tops->floor_bytes[group][tag];
    *top = tag_bytes[tag] > *top ? tag_bytes[tag] : *top;
    *floor = tag_bytes[tag] < *floor ? tag_bytes[tag] : *floor;
}

/* The caller frees it; NULL: fewer steps than that, or fewer that settled. */
static struct tops *collect_tops(const struct cycles *cycles, const struct evidence *evidence,
                                 uint64_t step_count_min)
{
    const uint64_t steps = cycles_count_steps(cycles, 1);
    if (cycles->swings.settled_count < step_count_min || steps < step_count_min) {
        return NULL;
    }
    struct own_ops own;
    struct tops *tops = calloc(1, sizeof *tops);
    uint64_t tag_bytes[OP_TAG_COUNT] = {0};
    size_t cycle = 0;
    size_t group = SIZE_MAX;
    CHECK(tops != NULL);
    own_ops_init(&own, evidence);
    tops->group_count = steps < GROUP_COUNT_MAX ? (size_t)steps : GROUP_COUNT_MAX;
    for (size_t i = 0; i < own.count; i++) {
        while (cycle < cycles->swings.count && cycles->swings.ends[cycle] < own.ops[i]) {
            cycle++;
        }
        if (&evidence->ops->ops[own.ops[i]] == evidence->op) {
            continue;
        }
        const bool counts = cycle >= 1 && cycle < cycles->swings.count;
        const size_t now = counts ? find_group(cycles, tops, cycle) : group;
        if (now != group) { /* as the last one left it */
            group = now;
            memcpy(tops->bytes[group], tag_bytes, sizeof tag_bytes);
            memcpy(tops->floor_bytes[group], tag_bytes, sizeof tag_bytes);
        }
        uint8_t tag;
        const int64_t change = own_ops_change(&own, evidence, i, &tag);
        tag_bytes[tag] += (uint64_t)change;
        if (counts) {
            note_group(tops, group, tag_bytes, tag);
        }
    }
    own_ops_deinit(&own);
    return tops;
}

/* Percent of the pairs of groups [first, count) of which the later one is higher. */
static uint64_t count_rising_pairs(const struct tops *tops, uint8_t tag, size_t first)
{
    uint64_t rising = 0;
    uint64_t all = 0;
    for (size_t i = first; i < tops->group_count; i++) {
        for (size_t k = i + 1; k < tops->group_count; k++) {
            rising += tops->bytes[k][tag] > tops->bytes[i][tag];
            all++;
        }
    }
    return all == 0 ? 0 : rising * 100 / all;
}

static uint64_t find_middle(uint64_t rows[][OP_TAG_COUNT], uint8_t tag, size_t first, size_t count)
{
    uint64_t bytes[GROUP_COUNT_MAX];
    for (size_t i = 0; i < count; i++) {
        bytes[i] = rows[first + i][tag];
    }
    return median_of_numbers(bytes, count);
}

static size_t quarter_of(const struct tops *tops)
{
    return (tops->group_count + 3) / 4;
}

/* Returns by how much more the last quarter has than the first. */
static uint64_t find_rise(const struct tops *tops, uint64_t rows[][OP_TAG_COUNT], uint8_t tag)
{
    const size_t quarter = quarter_of(tops);
    const uint64_t first = find_middle(rows, tag, 0, quarter);
    const uint64_t last = find_middle(rows, tag, tops->group_count - quarter, quarter);
    return last > first ? last - first : 0;
}

/* Judges the tops above the floor.  If the floor rises with the top, older blocks pile up, and no
 * step needs more. */
static void judge_tag(const struct evidence *evidence, struct tops *tops, uint8_t tag,
                      struct rising_tops *all)
{
    const uint64_t first = find_middle(tops->bytes, tag, 0, quarter_of(tops));
    const uint64_t rise = find_rise(tops, tops->bytes, tag);
    if (rise == 0 || rise < first / RISE_DIVISOR ||
        count_rising_pairs(tops, tag, 0) < PAIR_PERCENT_MIN ||
        count_rising_pairs(tops, tag, tops->group_count / 2) < LATE_PAIR_PERCENT_MIN) {
        return;
    }
    all->rise_bytes += rise;
    all->is_requested = all->is_requested || (evidence->op != NULL && evidence->op->tag == tag);
    if (rise > all->last_bytes - all->first_bytes) {
        all->tag = tag;
        all->first_bytes = first;
        all->last_bytes = first + rise;
    }
}

bool cycles_find_rising_tops(const struct cycles *cycles, const struct evidence *evidence,
                             struct rising_tops *rising)
{
    *rising = (struct rising_tops){.cycle_count = cycles->swings.count};
    struct tops *tops = collect_tops(cycles, evidence, TOPS_STEP_COUNT_MIN);
    if (tops == NULL) {
        return false;
    }
    for (size_t i = 0; i < tops->group_count; i++) {
        for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
            tops->bytes[i][tag] -= tops->floor_bytes[i][tag];
        }
    }
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        judge_tag(evidence, tops, (uint8_t)tag, rising);
    }
    free(tops);
    return rising->rise_bytes > 0;
}

/* Judges the tag's floor, the least that it falls back to, in groups [first, group_count). */
static struct rising_floor judge_floor(const struct tops *tops, uint8_t tag, size_t first)
{
    const uint64_t begin = tops->floor_bytes[first][tag];
    struct rising_floor rising = {.tag = tag, .step_count = tops->group_count - first};
    uint64_t high = begin;
    uint64_t middle = begin;
    for (size_t i = first + 1; i < tops->group_count; i++) {
        const uint64_t floor = tops->floor_bytes[i][tag];
        if (floor > high) {
            const uint64_t rise = floor - high;
            rising.largest_bytes = rise > rising.largest_bytes ? rise : rising.largest_bytes;
            rising.high_count++;
            high = floor;
        }
        middle = i == first + (tops->group_count - first) / 2 ? high : middle;
    }
    const uint64_t last = tops->floor_bytes[tops->group_count - 1][tag];
    rising.rise_bytes = last > begin ? last - begin : 0;
    const uint64_t share = rising.rise_bytes / FLOOR_HALF_DIVISOR;
    const bool rises = rising.high_count >= FLOOR_HIGH_COUNT_MIN && middle - begin >= share &&
                       last >= middle && last - middle >= share &&
                       rising.largest_bytes <= rising.rise_bytes / 2;
    rising.rise_bytes = rises ? rising.rise_bytes : 0;
    return rising;
}

bool cycles_find_rising_floor(const struct cycles *cycles, const struct evidence *evidence,
                              struct rising_floor *rising)
{
    *rising = (struct rising_floor){0};
    struct tops *tops = collect_tops(cycles, evidence, FLOOR_HIGH_COUNT_MIN);
    if (tops == NULL) {
        return false;
    }
    const size_t first = find_group(cycles, tops, cycles->swings.settled_first);
    for (int tag = 0; tag < OP_TAG_COUNT; tag++) {
        const struct rising_floor found = judge_floor(tops, (uint8_t)tag, first);
        *rising = found.rise_bytes > rising->rise_bytes ? found : *rising;
    }
    free(tops);
    return rising->rise_bytes > 0;
}
