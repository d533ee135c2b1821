/* Bins that are filled one after the other with patterns of equal items: against trying all, and
 * against choices that are counted otherwise. */
#include "harness/base/random.h"
#include "harness/oracle/packing/private/packing_search.h"
#include "tests/harness/packing/packing_list.h"
#include "tests/harness/packing/packing_proof.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>

enum { ITEM_COUNT_MAX = 400, BIN_COUNT_MAX = 16, NARROW = 8 };

struct list {
    uint64_t items[ITEM_COUNT_MAX], bins[BIN_COUNT_MAX]; /* granules, descending */
    uint32_t bin_of[ITEM_COUNT_MAX];
    size_t item_count, bin_count;
};

/* Sets sizes as packing_solve() does; the list keeps the bins that are found. */
static void begin_question(struct list *list)
{
    struct packing_sizes *sizes = &packing->sizes;
    uint64_t spare[ITEM_COUNT_MAX];
    packing_take_back(packing);
    packing_sort(list->items, spare, list->item_count);
    packing_sort(list->bins, spare, list->bin_count);
    *sizes = (struct packing_sizes){.items = list->items,
                                    .item_count = list->item_count,
                                    .bins = list->bins,
                                    .bin_count = list->bin_count,
                                    .bin_of = list->bin_of};
    for (size_t i = 0; i < list->bin_count; i++) {
        sizes->slack += list->bins[i];
    }
    for (size_t i = 0; i < list->item_count; i++) {
        ck_assert_uint_ge(sizes->slack, list->items[i]);
        sizes->slack -= list->items[i];
    }
    packing->nodes = packing->nodes_before = 0;
    packing->nodes_max = UINT64_C(1) << 24;
}

static bool bins_hold(const struct list *list)
{
    uint64_t left[BIN_COUNT_MAX];
    for (size_t i = 0; i < list->bin_count; i++) {
        left[i] = list->bins[i];
    }
    for (size_t i = 0; i < list->item_count; i++) {
        const uint32_t bin = list->bin_of[i];
        if (bin >= list->bin_count || left[bin] < list->items[i]) {
            return false;
        }
        left[bin] -= list->items[i];
    }
    return true;
}

static struct packing_list list_of(const struct list *list)
{
    struct packing_list same = {.item_count = 0};
    for (size_t i = 0; i < list->item_count; i++) {
        list_add_items(&same, list->items[i], 1);
    }
    for (size_t i = 0; i < list->bin_count; i++) {
        list_add_bin(&same, list->bins[i]);
    }
    return same;
}

/* Whether so many choices refute it, by a count that shares nothing with the search. */
static bool choices_hold(const struct list *list, uint64_t count)
{
    const struct packing_list same = list_of(list);
    const struct packing_problem problem = list_question(&same, 0);
    return packing_patterns_hold(&problem, count);
}

/* At most kind_count_max sizes; the bins have a little more than the items. */
static void draw_list(struct random *random, size_t item_count, size_t bin_count,
                      uint64_t kind_count_max, uint64_t size_max, struct list *list)
{
    enum { KINDS_MAX = 4 };
    uint64_t kinds[KINDS_MAX], sum = 0;
    *list = (struct list){.item_count = item_count, .bin_count = bin_count};
    for (size_t i = 0; i < kind_count_max; i++) {
        kinds[i] = random_between(random, 1, size_max);
    }
    for (size_t i = 0; i < item_count; i++) {
        list->items[i] = kinds[random_below(random, kind_count_max)];
        sum += list->items[i];
    }
    sum += random_below(random, size_max / 4 + 1);
    for (size_t i = 0; i + 1 < bin_count; i++) {
        const uint64_t most = sum - (bin_count - i - 1);
        list->bins[i] = random_between(random, 1, 2 * most / (bin_count - i) + 1);
        list->bins[i] = list->bins[i] < most ? list->bins[i] : most;
        sum -= list->bins[i];
    }
    list->bins[bin_count - 1] = sum;
}

EVERY_TEST(.timeout_s = 120, .setup = packing_begin, .teardown = packing_end);

TEST(small_lists_are_decided_as_by_trying_all)
{
    const uint64_t count = draws_count(30000, 1);
    struct random random;
    uint64_t truths[2] = {0}, narrow_count = 0;
    random_init(&random, 1);
    for (uint64_t i = 0; i < count; i++) {
        struct list list;
        uint64_t rows = 0;
        draw_list(&random, random_between(&random, 4, 9), random_between(&random, 2, 5), 4, 12,
                  &list);
        const struct packing_list same = list_of(&list);
        const bool truth = list_fits(&same);
        begin_question(&list);
        const enum packing_result whole = packing_search_patterns(packing, PACKING_TABLE_ROWS_MAX,
                                                                  UINT64_MAX, &rows);
        ck_assert_int_eq(whole, truth ? PACKING_FITS : PACKING_NONE);
        ck_assert(truth ? bins_hold(&list) : choices_hold(&list, rows));
        ck_assert(truth || !choices_hold(&list, rows + 1));
        begin_question(&list);
        const enum packing_result narrow = packing_search_patterns(packing, NARROW, UINT64_MAX,
                                                                   &rows);
        ck_assert(narrow == PACKING_UNKNOWN || (narrow == PACKING_FITS && truth));
        ck_assert(narrow == PACKING_UNKNOWN || bins_hold(&list));
        truths[truth]++;
        narrow_count += narrow == PACKING_FITS;
    }
    printf("patterns: %" PRIu64 " small lists fit, %" PRIu64 " at a narrow look; %" PRIu64
           " do not\n",
           truths[true], narrow_count, truths[false]);
    ck_assert_uint_gt(truths[false], count / 10);
    ck_assert_uint_gt(narrow_count, truths[true] / 2);
}

/* Of the size that the other searches leave open: what is said of them is proved. */
TEST(large_lists_of_few_sizes_are_decided)
{
    struct random random;
    uint64_t results[3] = {0};
    random_init(&random, 2);
    for (int i = 0; i < 20; i++) {
        struct list list;
        uint64_t rows = 0;
        draw_list(&random, 60, 8, 3, 4000, &list);
        begin_question(&list);
        const enum packing_result result = packing_search_patterns(packing, PACKING_TABLE_ROWS_MAX,
                                                                   UINT64_MAX, &rows);
        ck_assert(result != PACKING_FITS || bins_hold(&list));
        ck_assert(result != PACKING_NONE || choices_hold(&list, rows));
        results[result]++;
    }
    printf("patterns: of 20 large lists %" PRIu64 " fit, %" PRIu64 " do not, %" PRIu64
           " stay unknown\n",
           results[PACKING_FITS], results[PACKING_NONE], results[PACKING_UNKNOWN]);
    ck_assert_uint_eq(results[PACKING_UNKNOWN], 0);
    ck_assert_uint_gt(results[PACKING_NONE], 0);
}

TEST(no_more_steps_are_taken_than_there_are)
{
    struct random random;
    struct list list;
    uint64_t rows = 0;
    random_init(&random, 3);
    enum packing_result truth = PACKING_UNKNOWN;
    do {
        draw_list(&random, 60, 8, 4, 4000, &list);
        begin_question(&list);
        truth = packing_search_patterns(packing, PACKING_TABLE_ROWS_MAX, UINT64_MAX, &rows);
    } while (packing->nodes < 10);
    const uint64_t steps = packing->nodes;
    ck_assert_int_ne(truth, PACKING_UNKNOWN);
    for (uint64_t limit = 0; limit <= steps; limit++) {
        const enum packing_result expected = limit < steps ? PACKING_UNKNOWN : truth;
        begin_question(&list);
        ck_assert_int_eq(packing_search_patterns(packing, PACKING_TABLE_ROWS_MAX, limit, &rows),
                         expected);
        begin_question(&list);
        packing->nodes_max = limit;
        ck_assert_int_eq(
            packing_search_patterns(packing, PACKING_TABLE_ROWS_MAX, UINT64_MAX, &rows), expected);
        ck_assert_uint_le(packing->nodes, limit);
    }
}

/* 64 sizes, of which any may be chosen, have 2^64 choices. */
TEST(more_choices_than_there_are_numbers_for_are_left_open)
{
    struct list list = {.item_count = 64, .bin_count = 2};
    uint64_t rows = 0;
    for (size_t i = 0; i < list.item_count; i++) {
        list.items[i] = i + 1;
        list.bins[i % 2] += i + 1;
    }
    begin_question(&list);
    ck_assert_int_eq(packing_search_patterns(packing, PACKING_TABLE_ROWS_MAX, UINT64_MAX, &rows),
                     PACKING_UNKNOWN);
    list.bins[1] -= list.items[63];
    list.item_count--;
    begin_question(&list);
    ck_assert_int_eq(packing_search_patterns(packing, NARROW, UINT64_MAX, &rows), PACKING_FITS);
}
