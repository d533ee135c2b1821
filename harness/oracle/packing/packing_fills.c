#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

/* A bin holds no more than the largest sum that some choice of the items has and that is no more
 * than the bin: its best fill.  What all bins lose like that may be more than the slack, though
 * each choice takes the same small items.  Sizes that are nearly multiples of one size, as those of
 * a model's layers are, leave wide gaps between sums; the search bin by bin tries each of the many
 * choices with one sum alone.
 *
 * With two bins that is no bound but the answer: what is not in the smaller one is in the other. */
struct fills {
    struct packing *packing;
    struct packing_kind *kinds; /* kind_count of them, larger sizes first */
    size_t kind_count;
    size_t first;   /* the first kind that is no larger than the sums that are known */
    uint64_t unit;  /* granules: what all sizes from there on are multiples of */
    uint64_t known; /* granules: sums up to here are known; 0 = none yet */
    uint64_t limit;
};
/* Bit i of the words: some choice of items has the sum i, in units. */
enum { WORD_BITS = 64 };
/* A step pays for STEP_WORDS.  Bins up to STRETCH times the shortest are seen together. */
enum { STEP_WORDS = 256, STRETCH = 4 };
/* A question in a thousand needs many words: their memory does not stay. */
enum { WORDS_KEPT_MAX = 1 << 17 };

/* --- sums --- */

static size_t count_words(uint64_t sum_max)
{
    return (size_t)(sum_max / WORD_BITS + 1);
}

static bool has_sum(const uint64_t *words, uint64_t sum)
{
    return (words[sum / WORD_BITS] >> sum % WORD_BITS & 1) != 0;
}

/* Adds `more`, which is not 0, to each sum that is there. */
static void add_to_sums(uint64_t *words, size_t count, uint64_t more)
{
    const size_t far = (size_t)(more / WORD_BITS);
    const unsigned near = (unsigned)(more % WORD_BITS);
    CHECK(far < count);
    if (near == 0) {
        for (size_t i = count; i-- > far;) {
            words[i] |= words[i - far];
        }
        return;
    }
    for (size_t i = count - 1; i > far; i--) {
        words[i] |= words[i - far] << near | words[i - far - 1] >> (WORD_BITS - near);
    }
    words[far] |= words[0] << near;
}

/* The sums of kinds [first, end) up to sum_max; so many of a kind as 1, 2, 4, ... and a rest make
 * every smaller number as well. */
static void make_sums(const struct fills *fills, size_t first, size_t end, uint64_t sum_max,
                      uint64_t *words)
{
    uint64_t reached = 0;
    memset(words, 0, count_words(sum_max) * sizeof *words);
    words[0] = 1;
    for (size_t i = end; i-- > first;) {
        const uint64_t size = fills->kinds[i].size / fills->unit;
        const uint64_t count_max = sum_max / size;
        uint64_t left = fills->kinds[i].count < count_max ? fills->kinds[i].count : count_max;
        for (uint64_t part = 1; left > 0; part *= 2) {
            const uint64_t together = part < left ? part : left;
            left -= together;
            reached = together * size < sum_max - reached ? reached + together * size : sum_max;
            add_to_sums(words, count_words(reached), together * size);
        }
    }
}

static uint64_t *reserve_words(struct packing *packing, size_t count)
{
    if (count > packing->sum_word_capacity) {
        packing->sum_words = array_resized(packing->sum_words, count * sizeof(uint64_t));
        packing->sum_word_capacity = count;
    }
    return packing->sum_words;
}

static void trim_words(struct packing *packing)
{
    if (packing->sum_word_capacity > WORDS_KEPT_MAX) {
        free(packing->sum_words);
        packing->sum_words = NULL;
        packing->sum_word_capacity = 0;
    }
}

/* --- bins --- */

/* Finds the kinds and their unit; false: it would take more than the limits.  A kind has one pass
 * over all words for each binary digit of its count. */
static bool measure_sums(struct fills *fills, uint64_t known)
{
    uint64_t passes = 0;
    fills->known = known;
    fills->unit = 0;
    for (fills->first = fills->kind_count;
         fills->first > 0 && fills->kinds[fills->first - 1].size <= known; fills->first--) {
        const struct packing_kind *kind = &fills->kinds[fills->first - 1];
        fills->unit = packing_greatest_divisor(kind->size, fills->unit);
        for (uint64_t left = kind->count; left > 0; left /= 2) {
            passes++;
        }
    }
    /* If no item fits, one sum shows it. */
    fills->unit = fills->unit == 0 ? known : fills->unit;
    const uint64_t sum_count = known / fills->unit + 1;
    if (sum_count > PACKING_FILLS_SUMS_MAX || passes > PACKING_FILLS_WORK_MAX / sum_count) {
        return false;
    }
    const uint64_t steps = 1 + passes * count_words(sum_count) / STEP_WORDS;
    return steps <= fills->limit && packing_step(fills->packing, steps, &fills->limit);
}

/* Makes the sums known that fill the bin, and those of larger ones that cost little more; the
 * largest bin comes last, because the others alone may settle it. */
static bool know_sums(struct fills *fills, size_t bin)
{
    const uint64_t *bins = fills->packing->sizes.bins;
    const uint64_t far = bins[bin] * STRETCH;
    while (bin > 1 && bins[bin - 1] <= far) {
        bin--;
    }
    if (!measure_sums(fills, bins[bin])) {
        return false;
    }
    const uint64_t sum_max = fills->known / fills->unit;
    make_sums(fills, fills->first, fills->kind_count, sum_max,
              reserve_words(fills->packing, count_words(sum_max)));
    return true;
}

static uint64_t best_fill(const struct fills *fills, uint64_t length)
{
    uint64_t sum = length / fills->unit;
    while (!has_sum(fills->packing->sum_words, sum)) {
        sum--;
    }
    return sum * fills->unit;
}

/* --- the packing --- */

/* Puts items of kinds [first, end) with this sum, which some choice of them has, into the smaller
 * of two bins: so much from one half of the kinds, and the rest from the other. */
static void take_sum(struct fills *fills, size_t first, size_t end, uint64_t sum)
{
    if (sum == 0) {
        return;
    }
    if (first + 1 == end) {
        const struct packing_kind *kind = &fills->kinds[first];
        const uint64_t taken = sum / (kind->size / fills->unit);
        CHECK(taken <= kind->count);
        CHECK(taken * (kind->size / fills->unit) == sum);
        for (size_t i = 0; i < taken; i++) {
            fills->packing->sizes.bin_of[kind->first + i] = 1;
        }
        return;
    }
    const size_t middle = first + (end - first) / 2;
    uint64_t *low = reserve_words(fills->packing, 2 * count_words(sum));
    uint64_t *high = low + count_words(sum);
    make_sums(fills, first, middle, sum, low);
    make_sums(fills, middle, end, sum, high);
    uint64_t part = 0;
    while (!has_sum(low, part) || !has_sum(high, sum - part)) {
        part++;
        CHECK(part <= sum);
    }
    take_sum(fills, first, middle, part);
    take_sum(fills, middle, end, sum - part);
}

static void keep_packing(struct fills *fills)
{
    const struct packing_sizes *sizes = &fills->packing->sizes;
    const uint64_t sum = best_fill(fills, sizes->bins[1]) / fills->unit;
    memset(sizes->bin_of, 0, sizes->item_count * sizeof *sizes->bin_of);
    take_sum(fills, fills->first, fills->kind_count, sum);
}

static enum packing_result look_at_bins(struct fills *fills, struct packing_fills *refutation)
{
    const struct packing_sizes *sizes = &fills->packing->sizes;
    uint64_t lost = 0;
    for (size_t bin = sizes->bin_count; bin-- > 0;) {
        if (sizes->bins[bin] > fills->known && !know_sums(fills, bin)) {
            return PACKING_UNKNOWN;
        }
        lost += sizes->bins[bin] - best_fill(fills, sizes->bins[bin]);
        if (lost > sizes->slack) {
            *refutation = (struct packing_fills){
                .bins = sizes->bin_count - bin, .unit_bytes = fills->unit, .lost_bytes = lost};
            return PACKING_NONE;
        }
        if (sizes->bin_count == 2) {
            keep_packing(fills);
            return PACKING_FITS;
        }
    }
    return PACKING_UNKNOWN;
}

enum packing_result packing_search_fills(struct packing *packing, uint64_t limit,
                                         struct packing_fills *refutation)
{
    struct fills fills = {.packing = packing, .limit = limit};
    CHECK(packing->sizes.bin_count > 0);
    CHECK(packing->sizes.item_count > 0);
    fills.kinds = packing_kinds_of_sizes(packing, &fills.kind_count);
    packing_spend_on(packing, PACKING_EFFORT_FILLS);
    const enum packing_result result = look_at_bins(&fills, refutation);
    trim_words(packing);
    return result;
}
