#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/check.h"
#include "harness/base/random.h"

#include <string.h>

/* A pattern is what one bin holds: a number for each kind of items.  Bins are taken one after the
 * other, the smallest first.  What was put into them matters to the others only as a choice of
 * items, and all choices that can be a packing have nearly the same sum: what the bins have so far
 * less what was lost, and no more is lost than the slack.  Where there are few kinds there are few
 * such choices, though many patterns lead to each, and far fewer than choices of any sum, which the
 * table has.  The largest bin takes what is left.
 *
 * A narrow look draws some patterns for each choice and keeps the choices that lost least: where
 * many packings are it finds one soon. */
struct packing_patterns {
    struct packing *packing;
    struct packing_kind *kinds;
    size_t kind_count;
    /* By choices; a layer has those of the bins up to one, and a row's place is the row of the
     * layer before it. */
    struct packing_rows *rows;
    bool is_narrow;
    size_t width; /* narrow: choices that are kept */
    uint64_t limit;
    struct random random;
    uint64_t bins_sum; /* granules: of the bins that are filled, with this one */
    /* These describe the choice that is followed: */
    size_t row;
    uint64_t *rest;     /* granules: the items of kind i and of those after it that it leaves */
    uint64_t allowed;   /* granules: what may stay of the bin */
    uint64_t nodes_max; /* what is left of it */
    uint64_t rows_max;  /* narrow: what is left of it */
};
enum { NODES_FOLLOWED = 2000, ROWS_FOLLOWED = 64, NODES_OF_STEP = 16 };

/* --- the patterns that may follow a choice --- */

static bool offer_choice(struct packing_patterns *patterns, uint64_t used)
{
    bool is_new = false;
    struct packing_row *row = packing_rows_offer(patterns->rows, patterns->packing->table_rows_max,
                                                 used, &is_new);
    if (row == NULL) {
        return false;
    }
    if (is_new) {
        row->place = patterns->row;
    }
    return !patterns->is_narrow || --patterns->rows_max > 0;
}

/* Numbers for kind i and those after it.  False: that is enough, or too much. */
static bool choose_numbers(struct packing_patterns *patterns, size_t i, uint64_t used,
                           uint64_t room)
{
    if (patterns->nodes_max == 0) {
        return false;
    }
    patterns->nodes_max--;
    if (i == patterns->kind_count) {
        return offer_choice(patterns, used);
    }
    const struct packing_kind *kind = &patterns->kinds[i];
    const uint64_t left = kind->count - packing_count_used(kind, used);
    const uint64_t most = room / kind->size < left ? room / kind->size : left;
    const uint64_t enough = patterns->allowed + patterns->rest[i + 1];
    const uint64_t least = room > enough ? (room - enough + kind->size - 1) / kind->size : 0;
    if (least > most) {
        return true;
    }
    /* Narrow: beginning anywhere, and of the last kind as many as there can be. */
    const uint64_t span = patterns->is_narrow && i + 1 == patterns->kind_count ? 1
                                                                               : most - least + 1;
    const uint64_t begin = patterns->is_narrow ? random_below(&patterns->random, span) : 0;
    for (uint64_t k = 0; k < span; k++) {
        const uint64_t number = most - (begin + k) % span;
        if (!choose_numbers(patterns, i + 1, used + (number << kind->shift),
                            room - number * kind->size)) {
            return false;
        }
    }
    return true;
}

static uint64_t nodes_left(const struct packing_patterns *patterns)
{
    const uint64_t left = patterns->packing->nodes_max - patterns->packing->nodes;
    const uint64_t limit = left < patterns->limit ? left : patterns->limit;
    return limit < UINT64_MAX / NODES_OF_STEP ? limit * NODES_OF_STEP : UINT64_MAX;
}

/* False: the budget ended. */
static bool follow_choice(struct packing_patterns *patterns, size_t row, uint64_t bin)
{
    const uint64_t used = patterns->rows->rows[row].used;
    const uint64_t lost = patterns->bins_sum - bin -
                          packing_sum_used(patterns->kinds, patterns->kind_count, used);
    const uint64_t spare = patterns->packing->sizes.slack - lost;
    const uint64_t nodes_max = nodes_left(patterns);
    patterns->row = row;
    patterns->allowed = patterns->is_narrow ? spare / 2 : spare;
    patterns->rest[patterns->kind_count] = 0;
    for (size_t i = patterns->kind_count; i-- > 0;) {
        const struct packing_kind *kind = &patterns->kinds[i];
        patterns->rest[i] = patterns->rest[i + 1] +
                            kind->size * (kind->count - packing_count_used(kind, used));
    }
    patterns->nodes_max = patterns->is_narrow && nodes_max > NODES_FOLLOWED ? NODES_FOLLOWED
                                                                            : nodes_max;
    patterns->rows_max = ROWS_FOLLOWED;
    const uint64_t before = patterns->nodes_max;
    const bool is_whole = choose_numbers(patterns, 0, used, bin);
    const uint64_t steps = 1 + (before - patterns->nodes_max) / NODES_OF_STEP;
    return packing_step(patterns->packing, steps, &patterns->limit) &&
           (is_whole || patterns->is_narrow);
}

/* --- layers --- */

static void keep_packing(const struct packing_patterns *patterns)
{
    const struct packing_sizes *sizes = &patterns->packing->sizes;
    const struct packing_row *rows = patterns->rows->rows;
    size_t row = patterns->rows->layer;
    memset(sizes->bin_of, 0, sizes->item_count * sizeof *sizes->bin_of);
    for (size_t bin = 1; bin < sizes->bin_count; bin++) {
        const uint64_t before = rows[rows[row].place].used;
        for (size_t i = 0; i < patterns->kind_count; i++) {
            struct packing_kind *kind = &patterns->kinds[i];
            size_t number = packing_count_used(kind, rows[row].used) -
                            packing_count_used(kind, before);
            for (; number > 0; number--) {
                sizes->bin_of[kind->first++] = (uint32_t)bin;
            }
        }
        row = (size_t)rows[row].place;
    }
}

static enum packing_result fill_bins(struct packing_patterns *patterns)
{
    const struct packing_sizes *sizes = &patterns->packing->sizes;
    struct packing_rows *rows = patterns->rows;
    bool is_new = false;
    packing_rows_clear(rows);
    (void)packing_rows_offer(rows, 1, 0, &is_new);
    for (size_t bin = sizes->bin_count; --bin > 0;) {
        const size_t first = rows->layer;
        const size_t end = rows->count;
        packing_rows_begin_layer(rows);
        patterns->bins_sum += sizes->bins[bin];
        for (size_t i = first; i < end; i++) {
            if (!follow_choice(patterns, i, sizes->bins[bin])) {
                return PACKING_UNKNOWN;
            }
        }
        if (rows->count == end) {
            return patterns->is_narrow ? PACKING_UNKNOWN : PACKING_NONE;
        }
        if (patterns->is_narrow) {
            (void)packing_rows_thin(rows, patterns->width, patterns->kinds, patterns->kind_count,
                                    &patterns->bins_sum);
        }
    }
    keep_packing(patterns);
    return PACKING_FITS;
}

enum packing_result packing_search_patterns(struct packing *packing, size_t width, uint64_t limit,
                                            uint64_t *row_count)
{
    const uint64_t limit_max = PACKING_PATTERNS_NODES_MAX / NODES_OF_STEP;
    struct packing_patterns patterns = {.packing = packing,
                                        .rows = &packing->rows,
                                        .is_narrow = width < PACKING_TABLE_ROWS_MAX,
                                        .width = width,
                                        .limit = limit < limit_max ? limit : limit_max};
    CHECK(packing->sizes.bin_count > 0);
    CHECK(packing->sizes.item_count > 0);
    if (!patterns.is_narrow && packing->sizes.item_count > PACKING_SEARCH_ITEMS_MAX) {
        return PACKING_UNKNOWN;
    }
    patterns.kinds = packing_kinds_of_sizes(packing, &patterns.kind_count);
    patterns.rest = packing_take(packing, patterns.kind_count + 1, sizeof *patterns.rest);
    if (!packing_rows_assign_bits(patterns.kinds, patterns.kind_count)) {
        return PACKING_UNKNOWN; /* there are too many choices to number them */
    }
    packing_spend_on(packing, PACKING_EFFORT_TABLE);
    random_init(&patterns.random, 0);
    const enum packing_result result = fill_bins(&patterns);
    *row_count = packing->rows.count;
    packing_rows_trim(&packing->rows);
    return result;
}
