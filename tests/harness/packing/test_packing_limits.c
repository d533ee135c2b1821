/* Where the searches for a packing stop: what is within a limit is settled, and what is one beyond
 * it stays open, at once. */
#include "harness/oracle/packing/private/packing_search.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>

enum { GRANULE = 512 };
#define NODES_MAX (UINT64_C(1) << 24)

/* --- the question as the searches see it --- */

static struct rig {
    struct packing *packing;
    struct packing_problem problem;
    struct packing_item *items;
    struct packing_bin *bins;
    uint64_t *item_sizes, *bin_sizes; /* granules */
    uint32_t *bin_of;
} rig;

static void *take(size_t count, size_t size_bytes)
{
    void *taken = calloc(count + 1, size_bytes);
    ck_assert_ptr_nonnull(taken);
    return taken;
}

static void end_rig(void)
{
    if (rig.packing != NULL) {
        packing_destroy(rig.packing);
    }
    free(rig.items);
    free(rig.bins);
    free(rig.item_sizes);
    free(rig.bin_sizes);
    free(rig.bin_of);
}

EVERY_TEST(.teardown = end_rig);

static void begin_rig(size_t item_count, size_t bin_count)
{
    end_rig();
    rig = (struct rig){.packing = packing_create(),
                       .items = take(item_count, sizeof *rig.items),
                       .bins = take(bin_count, sizeof *rig.bins),
                       .item_sizes = take(item_count, sizeof *rig.item_sizes),
                       .bin_sizes = take(bin_count, sizeof *rig.bin_sizes),
                       .bin_of = take(item_count, sizeof *rig.bin_of)};
    rig.problem = (struct packing_problem){.bins = rig.bins,
                                           .bin_count = bin_count,
                                           .items = rig.items,
                                           .item_count = item_count,
                                           .granule_bytes = GRANULE,
                                           .nodes_max = NODES_MAX};
}

/* After item_sizes and bin_sizes were filled, descending. */
static void begin_question(void)
{
    struct packing_sizes *sizes = &rig.packing->sizes;
    const size_t item_count = rig.problem.item_count;
    const size_t bin_count = rig.problem.bin_count;
    uint64_t at = 0;
    *sizes = (struct packing_sizes){.items = rig.item_sizes,
                                    .item_count = item_count,
                                    .bins = rig.bin_sizes,
                                    .bin_count = bin_count,
                                    .bin_of = rig.bin_of};
    for (size_t i = 0; i < bin_count; i++) {
        rig.bins[i] = (struct packing_bin){at, at + rig.bin_sizes[i] * GRANULE};
        at = rig.bins[i].end + GRANULE;
        sizes->slack += rig.bin_sizes[i];
    }
    for (size_t i = 0; i < item_count; i++) {
        rig.items[i] = (struct packing_item){rig.item_sizes[i] * GRANULE, GRANULE};
        sizes->slack -= rig.item_sizes[i];
    }
    packing_take_back(rig.packing);
    rig.packing->nodes = 0;
    rig.packing->nodes_max = NODES_MAX;
    rig.packing->addresses = packing_take(rig.packing, item_count, sizeof *rig.packing->addresses);
}

static void fill_equal(uint64_t *sizes, size_t count, uint64_t size)
{
    for (size_t i = 0; i < count; i++) {
        sizes[i] = size;
    }
}

/* --- items --- */

enum search { SEARCH_BINS = 0, SEARCH_ALIGNED, SEARCH_TABLE, SEARCH_COUNT };

static enum packing_result search_with(enum search search, uint64_t limit)
{
    uint64_t row_count = 0;
    switch (search) {
    case SEARCH_BINS:
        return packing_search_bins(rig.packing, limit);
    case SEARCH_ALIGNED:
        return packing_search_aligned(rig.packing, &rig.problem, limit);
    default:
        return packing_search_table(rig.packing, &rig.problem, PACKING_TABLE_ROWS_MAX, limit,
                                    &row_count);
    }
}

/* Items of one granule, which fill two bins. */
TEST(a_search_takes_no_more_than_8192_items, .to = SEARCH_COUNT)
{
    for (size_t more = 0; more < 2; more++) {
        const size_t count = 8192 + more;
        begin_rig(count, 2);
        fill_equal(rig.item_sizes, count, 1);
        rig.bin_sizes[0] = count - 4096;
        rig.bin_sizes[1] = 4096;
        begin_question();
        const enum packing_result result = search_with((enum search)_i, NODES_MAX);
        ck_assert_int_eq(result, more == 0 ? PACKING_FITS : PACKING_UNKNOWN);
        ck_assert(more == 0 || rig.packing->nodes == 0);
    }
}

/* A row for each bin, as long as there are items and one more: 8192 rows of 512. */
TEST(the_search_bin_by_bin_keeps_no_more_than_4_million_sums)
{
    for (size_t more = 0; more < 2; more++) {
        begin_rig(511 + more, 8192);
        fill_equal(rig.item_sizes, 511 + more, 1);
        fill_equal(rig.bin_sizes, 8192, 1);
        begin_question();
        ck_assert_int_eq(packing_search_bins(rig.packing, 3), PACKING_UNKNOWN);
        ck_assert_int_eq(rig.packing->nodes > 0, more == 0);
    }
}

/* --- rows of a table --- */

static enum packing_result make_table(size_t rows_max, uint64_t limit, uint64_t nodes_max,
                                      uint64_t *row_count)
{
    begin_question();
    rig.packing->table_rows_max = rows_max;
    rig.packing->nodes_max = nodes_max;
    return packing_search_table(rig.packing, &rig.problem, PACKING_TABLE_ROWS_MAX, limit,
                                row_count);
}

/* An item of 5 granules and two of 3 are as much as bins of 7 and 4, and do not fit.  There are
 * 2 * 3 choices of items, with 7 ways from one to the next. */
static void fill_three_items(void)
{
    begin_rig(3, 2);
    rig.item_sizes[0] = 5;
    rig.item_sizes[1] = rig.item_sizes[2] = 3;
    rig.bin_sizes[0] = 7;
    rig.bin_sizes[1] = 4;
}

TEST(a_table_that_is_sure_to_end_needs_no_budget_of_its_own)
{
    enum { CHOICES = 2 * 3, STEPS = 7 + CHOICES * 2 };
    uint64_t row_count = 0;
    fill_three_items();
    ck_assert_int_eq(make_table(CHOICES, 0, STEPS, &row_count), PACKING_NONE);
    ck_assert_int_eq(make_table(CHOICES - 1, 0, STEPS, &row_count), PACKING_UNKNOWN);
    ck_assert_int_eq(make_table(CHOICES, 0, STEPS - 1, &row_count), PACKING_UNKNOWN);
    ck_assert_int_eq(make_table(CHOICES - 1, STEPS, STEPS, &row_count), PACKING_NONE);
}

TEST(a_table_has_no_more_rows_than_it_may)
{
    uint64_t least = 0;
    uint64_t row_count = 0;
    fill_three_items();
    ck_assert_int_eq(make_table(1000, NODES_MAX, NODES_MAX, &least), PACKING_NONE);
    ck_assert_int_eq(make_table(least, NODES_MAX, NODES_MAX, &row_count), PACKING_NONE);
    ck_assert_uint_eq(row_count, least);
    ck_assert_int_eq(make_table(least - 1, NODES_MAX, NODES_MAX, &row_count), PACKING_UNKNOWN);
}

/* --- sums --- */

static enum packing_result look_at_sums(uint64_t limit)
{
    struct packing_fills refutation;
    return packing_search_fills(rig.packing, limit, &refutation);
}

/* Two bins of `length`, and two items that leave `rest` of each for one of twice the rest. */
static enum packing_result look_at_long_bins(uint64_t length, uint64_t rest)
{
    begin_rig(3, 2);
    rig.item_sizes[0] = rig.item_sizes[1] = length - rest;
    rig.item_sizes[2] = 2 * rest;
    fill_equal(rig.bin_sizes, 2, length);
    begin_question();
    return look_at_sums(NODES_MAX);
}

TEST(no_more_sums_are_counted_than_fit_into_32_mib)
{
    /* Sums from 0 to the length, in granules: the sizes have no other divisor. */
    ck_assert_int_eq(look_at_long_bins(PACKING_FILLS_SUMS_MAX - 1, 2), PACKING_NONE);
    ck_assert_int_eq(look_at_long_bins(PACKING_FILLS_SUMS_MAX, 3), PACKING_UNKNOWN);
}

/* Two bins, `small_count` sizes that are multiples of 4, and two large sizes that differ by one of
 * these: what fills a bin best leaves 2 granules of it. */
static enum packing_result look_at_many_sizes(size_t small_count)
{
    const uint64_t length = PACKING_FILLS_SUMS_MAX - 1;
    uint64_t sum = 0;
    begin_rig(small_count + 2, 2);
    for (size_t i = 0; i < small_count; i++) {
        rig.item_sizes[small_count + 1 - i] = 4 * (i + 1);
        sum += 4 * (i + 1);
    }
    rig.item_sizes[0] = length - 2;
    rig.item_sizes[1] = length + 2 - sum;
    fill_equal(rig.bin_sizes, 2, length);
    begin_question();
    return look_at_sums(NODES_MAX);
}

TEST(sums_are_gone_through_no_more_often_than_half_a_second_allows)
{
    enum { PASSES_MAX = PACKING_FILLS_WORK_MAX / PACKING_FILLS_SUMS_MAX };
    ck_assert_int_eq(look_at_many_sizes(PASSES_MAX - 2), PACKING_NONE);
    ck_assert_int_eq(look_at_many_sizes(PASSES_MAX - 1), PACKING_UNKNOWN);
}

TEST(sums_take_no_step_beyond_the_budget_of_all_searches)
{
    begin_rig(3, 2);
    rig.item_sizes[0] = rig.item_sizes[1] = 5;
    rig.item_sizes[2] = 4;
    fill_equal(rig.bin_sizes, 2, 7);
    for (uint64_t nodes_max = 0; nodes_max < 2; nodes_max++) {
        for (uint64_t limit = 0; limit < 2; limit++) {
            begin_question();
            rig.packing->nodes_max = nodes_max;
            ck_assert_int_eq(look_at_sums(limit),
                             nodes_max == 1 && limit == 1 ? PACKING_NONE : PACKING_UNKNOWN);
        }
    }
}

/* --- divisions --- */

/* Bins of 3 granules, as many items of 2, and one item of 3: the unit 2 shows that they do not fit,
 * but it is the second one that is tried, and each takes a division for each bin. */
static bool rounding_refutes(size_t bin_count)
{
    uint64_t unit = 0;
    begin_rig(bin_count + 1, bin_count);
    fill_equal(rig.item_sizes, bin_count + 1, 2);
    rig.item_sizes[0] = 3;
    fill_equal(rig.bin_sizes, bin_count, 3);
    begin_question();
    const bool is_refuted = packing_rounding_refutes(&rig.packing->sizes, &unit);
    ck_assert(!is_refuted || unit == 2);
    return is_refuted;
}

TEST(so_many_units_are_tried_as_a_millisecond_allows)
{
    ck_assert(rounding_refutes(3));
    ck_assert(rounding_refutes(32768));
    ck_assert(!rounding_refutes(32769));
}
