#include "checker/private/check.h"

#include <stdlib.h>

enum { WORD_BITS = 64 };
/* No fills have more sums, or go through them more often, so that there is time for it. */
static const json_int_t sums_max = 1 << 28, sums_work_max = INT64_C(1) << 35;

/* Bit i of words: some choice of the types up to now has the sum i, in units. */
struct fills_sums {
    uint64_t *words;
    size_t word_count;
};

/* Adds to each sum that is there the sum with `more` added; drops what is behind the words. */
static void shift_sums(struct fills_sums *sums, uint64_t more)
{
    const size_t whole = (size_t)(more / WORD_BITS), bits = (size_t)(more % WORD_BITS);
    for (size_t to = sums->word_count; to-- > 0 && to >= whole;) {
        uint64_t moved = sums->words[to - whole] << bits;
        if (bits > 0 && to > whole) {
            moved |= sums->words[to - whole - 1] >> (WORD_BITS - bits);
        }
        sums->words[to] |= moved;
    }
}

/* Takes all items of types [first, end) into the sums, as many together as a power of two. */
static void make_sums(const struct check *check, struct fills_sums *sums, size_t first,
                      json_int_t unit)
{
    for (const struct checked_piece *item = check->items + first, *next;
         item < check->items + check->item_count; item = next) {
        uint64_t left = 0;
        for (next = item; next < check->items + check->item_count && next->size == item->size;
             next++) {
            left++;
        }
        for (uint64_t together = 1; left > 0; together *= 2) {
            together = LEAST(together, left);
            shift_sums(sums, (uint64_t)(item->size / unit) * together);
            left -= together;
        }
    }
}

/* Requires that the items from `first` on are multiples of the unit, and their sums in limits. */
static bool require_countable(struct check *check, size_t first, json_int_t unit,
                              json_int_t sum_count)
{
    json_int_t passes = 0;
    for (size_t i = first, run = 1; i < check->item_count; i++, run++) {
        if (!check_require(check, check->items[i].size % unit == 0,
                           "proof: an item is no multiple of the unit")) {
            return false;
        }
        /* Each binary digit of a count comes with the first item that needs it. */
        run = i == first || check->items[i - 1].size != check->items[i].size ? 1 : run;
        passes += (run & (run - 1)) == 0;
    }
    return check_require(check, sum_count <= sums_max && passes * sum_count <= sums_work_max,
                         "proof: there are too many sums");
}

static json_int_t find_best_fill(const struct fills_sums *sums, json_int_t length, json_int_t unit)
{
    size_t sum = (size_t)(length / unit);
    while ((sums->words[sum / WORD_BITS] >> sum % WORD_BITS & 1) == 0) {
        sum--;
    }
    return (json_int_t)sum * unit;
}

void check_fills(struct check *check)
{
    json_int_t spans, unit, lost, found = 0;
    size_t first = 0;
    if (!check_unpack(check, check->proof, "proof", "{s:s,s:I,s:I,s:I}", "kind", &check->kind,
                      "spans", &spans, "unit", &unit, "lost", &lost) ||
        !check_require(check,
                       is_in_range(spans, 1, (json_int_t)check->span_count, 1) &&
                           is_in_range(unit, 1, INT64_MAX, check->granule),
                       "proof: spans or unit is out of range")) {
        return;
    }
    qsort(check->spans, check->span_count, sizeof *check->spans, pieces_compare);
    qsort(check->items, check->item_count, sizeof *check->items, pieces_compare);
    const struct checked_piece *longest = &check->spans[check->span_count - (size_t)spans];
    while (first < check->item_count && check->items[first].size > longest->size) {
        first++;
    }
    const json_int_t sum_count = longest->size / unit + 1;
    if (!require_countable(check, first, unit, sum_count)) {
        return;
    }
    struct fills_sums sums = {.word_count = (size_t)(sum_count / WORD_BITS) + 1};
    sums.words = calloc(sums.word_count, sizeof *sums.words);
    if (!check_has_memory(check, sums.words != NULL)) {
        return;
    }
    sums.words[0] = 1;
    make_sums(check, &sums, first, unit);
    for (const struct checked_piece *span = longest; span < check->spans + check->span_count;
         span++) {
        found += span->size - find_best_fill(&sums, span->size, unit);
    }
    free(sums.words);
    check_require(check, found == lost, "proof: the spans lose %lld", (long long)found);
    check_require(check,
                  lost > pieces_sum(check->spans, check->span_count, 1) -
                             pieces_sum(check->items, check->item_count, 1),
                  "proof: what the spans lose is no more than the slack");
}
