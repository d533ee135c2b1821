#include "harness/oracle/packing/private/packing_search.h"

#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/base/search.h"

/* Any packing can be taken in the order of its places, bin after bin, and put down item by item,
 * each as low as it can be above the one before.  Of all orders of the same items only the one that
 * ends lowest matters to the items that follow, so the table has one row for each choice of items
 * that some order can put down: where the lowest of these orders ends.  Rows are made in the order
 * of how many items they hold, because a row with n items comes from rows with n - 1.
 *
 * A bin is closed only when no item that is left fits into it: otherwise one of those that come
 * later can be here instead, and nothing of what follows ends higher.  A row that has lost more
 * than the slack can be followed by nothing. */
/* Bins are put end to end, so that a place is one number: how far it is from the beginning of the
 * first bin. */
struct table_bin {
    uint64_t start;  /* granules */
    uint64_t offset; /* the lengths of all bins before it */
};
struct packing_table {
    struct packing *packing;
    const struct packing_problem *problem;
    struct table_bin *bins; /* bin_count of them and one behind the last */
    struct packing_kind *kinds;
    uint32_t *order; /* the items of the problem, by kind */
    size_t kind_count;
    uint64_t slack, limit;
    size_t width;              /* rows that are kept with as many items */
    struct packing_rows *rows; /* a layer has the rows with as many items; their place is a place */
};

/* --- the question --- */

static void sort_bins(struct packing_table *table)
{
    const struct packing_problem *problem = table->problem;
    const size_t count = problem->bin_count;
    const uint64_t granule = problem->granule_bytes;
    const struct packing_bin *sorted = packing_sort_bins(table->packing, problem);
    table->bins = packing_take(table->packing, count + 1, sizeof *table->bins);
    uint64_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        table->bins[i] = (struct table_bin){sorted[i].start / granule, offset};
        offset += (sorted[i].end - sorted[i].start) / granule;
    }
    table->bins[count] = (struct table_bin){0, offset};
}

/* False: there are too many rows. */
static bool offer_row(struct packing_table *table, uint64_t used, uint64_t place)
{
    bool is_new = false;
    struct packing_row *row = packing_rows_offer(table->rows, table->packing->table_rows_max, used,
                                                 &is_new);
    if (row == NULL) {
        return false;
    }
    row->place = is_new || place < row->place ? place : row->place;
    return true;
}

/* --- what may follow a row --- */

static size_t bin_of_place(const struct packing_table *table, uint64_t place)
{
    size_t above; /* the first bin has offset 0 */
    SEARCH_FIRST(above, 1, table->problem->bin_count, table->bins[above].offset > place);
    return above - 1;
}

/* Granules of all items. */
static uint64_t sum_items(const struct packing_table *table)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < table->kind_count; i++) {
        sum += table->kinds[i].size * table->kinds[i].count;
    }
    return sum;
}

/* Returns where an item of the kind ends when it is the next in the bin; UINT64_MAX: it does not
 * fit. */
static uint64_t end_in_bin(const struct packing_table *table, const struct packing_kind *kind,
                           size_t bin, uint64_t place)
{
    const struct table_bin *at = &table->bins[bin];
    const uint64_t address = at->start + (place - at->offset);
    const uint64_t end = place + (align_up(address, kind->align) - address) + kind->size;
    return end <= at[1].offset ? end : UINT64_MAX;
}

enum table_step { STEP_DONE = 0, STEP_NOTHING_FITS, STEP_BUDGET };

/* Offers the rows with one more item in this bin. */
static enum table_step follow_in_bin(struct packing_table *table, uint64_t used, size_t bin,
                                     uint64_t place, uint64_t place_max)
{
    uint64_t steps = 1;
    enum table_step step = STEP_NOTHING_FITS;
    for (size_t i = 0; i < table->kind_count; i++) {
        const struct packing_kind *kind = &table->kinds[i];
        if (packing_count_used(kind, used) == kind->count) {
            continue;
        }
        const uint64_t end = end_in_bin(table, kind, bin, place);
        if (end == UINT64_MAX) {
            continue;
        }
        step = STEP_DONE;
        if (end - kind->size <= place_max) {
            steps++;
            if (!offer_row(table, used + (UINT64_C(1) << kind->shift), end)) {
                return STEP_BUDGET;
            }
        }
    }
    return packing_step(table->packing, steps, &table->limit) ? step : STEP_BUDGET;
}

/* False: the budget ended. */
static bool follow_row(struct packing_table *table, const struct packing_row row)
{
    /* Up to here no more is lost than the slack. */
    const uint64_t place_max = packing_sum_used(table->kinds, table->kind_count, row.used) +
                               table->slack;
    uint64_t place = row.place;
    for (size_t bin = bin_of_place(table, place);
         bin < table->problem->bin_count && place <= place_max;
         bin++, place = table->bins[bin].offset) {
        const enum table_step step = follow_in_bin(table, row.used, bin, place, place_max);
        if (step != STEP_NOTHING_FITS) {
            return step == STEP_DONE;
        }
    }
    return true;
}

/* --- the packing --- */

/* The last item of a row, and the row before it, which is one of [first, end). */
static size_t find_row_before(const struct packing_table *table, size_t row_index, size_t first,
                              size_t end, size_t *kind_index)
{
    const struct packing_row *rows = table->rows->rows;
    const struct packing_row row = rows[row_index];
    for (size_t before = first;; before++) {
        CHECK(before < end);
        const uint64_t more = row.used - rows[before].used;
        for (size_t i = 0; i < table->kind_count; i++) {
            const struct packing_kind *kind = &table->kinds[i];
            if (more != UINT64_C(1) << kind->shift) {
                continue;
            }
            const size_t bin = bin_of_place(table, row.place - 1);
            const uint64_t low = table->bins[bin].offset;
            const uint64_t place = rows[before].place > low ? rows[before].place : low;
            if (place <= row.place && end_in_bin(table, kind, bin, place) == row.place) {
                *kind_index = i;
                return before;
            }
        }
    }
}

/* layers[n]: the first row with n items. */
static void keep_addresses(struct packing_table *table, const size_t *layers)
{
    size_t row = layers[table->problem->item_count];
    for (size_t n = table->problem->item_count; n > 0; n--) {
        size_t kind_index = 0;
        const uint64_t place = table->rows->rows[row].place;
        row = find_row_before(table, row, layers[n - 1], layers[n], &kind_index);
        struct packing_kind *kind = &table->kinds[kind_index];
        const struct table_bin *bin = &table->bins[bin_of_place(table, place - 1)];
        table->packing->addresses[table->order[kind->first++]] = (bin->start + (place - kind->size -
                                                                                bin->offset)) *
                                                                 table->problem->granule_bytes;
    }
}

/* Makes the rows with n items from those with n - 1; false: the budget ended. */
static bool make_layer(struct packing_table *table, size_t first, size_t end)
{
    packing_rows_begin_layer(table->rows);
    for (size_t i = first; i < end; i++) {
        if (!follow_row(table, table->rows->rows[i])) {
            return false;
        }
    }
    return true;
}

/* Returns the most steps that the table takes, if every choice of items is a row; UINT64_MAX: too
 * many. */
static uint64_t bound_steps(const struct packing_table *table)
{
    uint64_t rows = 1;
    uint64_t more = 0; /* the rows that have one item more, over all rows */
    for (size_t i = 0; i < table->kind_count; i++) {
        const uint64_t count = table->kinds[i].count;
        if (rows > table->packing->table_rows_max / (count + 1)) {
            return UINT64_MAX;
        }
        more = more * (count + 1) + rows * count;
        rows *= count + 1;
    }
    return more + rows * table->problem->bin_count;
}

static enum packing_result make_table(struct packing_table *table)
{
    const size_t item_count = table->problem->item_count;
    struct packing_rows *rows = table->rows;
    bool is_whole = true;
    size_t *layers = packing_take(table->packing, item_count + 1, sizeof *layers);
    packing_rows_clear(rows);
    layers[0] = 0;
    (void)offer_row(table, 0, 0);
    for (size_t n = 1; n <= item_count; n++) {
        layers[n] = rows->count;
        if (!make_layer(table, layers[n - 1], layers[n])) {
            return PACKING_UNKNOWN;
        }
        if (rows->count == layers[n]) {
            return is_whole ? PACKING_NONE : PACKING_UNKNOWN;
        }
        is_whole = packing_rows_thin(rows, table->width, table->kinds, table->kind_count, NULL) &&
                   is_whole;
    }
    if (table->problem->wants_proof) {
        keep_addresses(table, layers);
    }
    return PACKING_FITS;
}

enum packing_result packing_search_table(struct packing *packing,
                                         const struct packing_problem *problem, size_t width,
                                         uint64_t limit, uint64_t *row_count)
{
    struct packing_table table = {.packing = packing,
                                  .problem = problem,
                                  .limit = limit,
                                  .width = width,
                                  .rows = &packing->rows};
    CHECK(problem->bin_count > 0);
    CHECK(problem->item_count > 0);
    if (problem->item_count > PACKING_SEARCH_ITEMS_MAX) {
        return PACKING_UNKNOWN;
    }
    table.kinds = packing_kinds_of_items(packing, problem, &table.order, &table.kind_count);
    if (!packing_rows_assign_bits(table.kinds, table.kind_count)) {
        return PACKING_UNKNOWN;
    }
    sort_bins(&table);
    packing_spend_on(packing, PACKING_EFFORT_TABLE);
    /* A table that is sure to end may take all steps that there are. */
    if (width == PACKING_TABLE_ROWS_MAX &&
        bound_steps(&table) <= packing->nodes_max - packing->nodes) {
        table.limit = UINT64_MAX;
    }
    table.slack = table.bins[problem->bin_count].offset - sum_items(&table);
    const enum packing_result result = make_table(&table);
    *row_count = packing->rows.count;
    packing_rows_trim(&packing->rows);
    return result;
}
