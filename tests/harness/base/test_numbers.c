/* Numbers in order, and what is found among them. */
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdbool.h>

TEST(numbers_are_ordered_as_far_as_they_go)
{
    static const uint64_t ascending[] = {0, 1, 2, UINT32_MAX, UINT64_C(1) << 63, UINT64_MAX};
    enum { COUNT = sizeof ascending / sizeof ascending[0] };
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < COUNT; k++) {
            const int order = compare_numbers(ascending[i], ascending[k]);
            ck_assert_int_eq(order < 0, i < k);
            ck_assert_int_eq(order > 0, i > k);
        }
    }
}

TEST(the_second_order_counts_among_equals)
{
    ck_assert_int_eq(compare_then(-1, 1), -1);
    ck_assert_int_eq(compare_then(0, 1), 1);
    ck_assert_int_eq(compare_then(0, 0), 0);
}

TEST(sorted_numbers_ascend)
{
    uint64_t numbers[] = {UINT64_MAX, 0, UINT64_C(1) << 63, 7, 7};
    double fractions[] = {0.5, -1.5, 1e300, 0.25};
    sort_numbers(numbers, 5);
    sort_numbers(NULL, 0);
    sort_doubles(fractions, 4);
    sort_doubles(NULL, 0);
    for (int i = 1; i < 5; i++) {
        ck_assert_uint_le(numbers[i - 1], numbers[i]);
    }
    ck_assert_uint_eq(numbers[4], UINT64_MAX);
    for (int i = 1; i < 4; i++) {
        ck_assert(fractions[i - 1] < fractions[i]);
    }
}

TEST(a_median_is_the_middle_one)
{
    uint64_t odd[] = {9, 1, 5}, even[] = {4, 3, 2, 1}, one[] = {8};
    double doubles[] = {9, 1, 5}, pair[] = {4, 1};
    ck_assert_uint_eq(median_of_numbers(odd, 3), 5);
    ck_assert_uint_eq(median_of_numbers(even, 4), 3); /* the upper of two */
    ck_assert_uint_eq(median_of_numbers(one, 1), 8);
    ck_assert(median_of_doubles(doubles, 3) == 5);
    ck_assert(median_of_doubles(pair, 2) == 2.5); /* the mean of two */
}

TEST(a_search_finds_the_first_that_holds)
{
    static const uint32_t values[] = {1, 3, 3, 3, 7, 9};
    enum { COUNT = sizeof values / sizeof values[0] };
    for (uint32_t wanted = 0; wanted < 11; wanted++) {
        for (size_t from = 0; from <= COUNT; from++) {
            size_t expected = from, found, tries = 0;
            while (expected < COUNT && values[expected] < wanted) {
                expected++;
            }
            SEARCH_FIRST(found, from, COUNT, (tries++, values[found] >= wanted));
            ck_assert_uint_eq(found, expected);
            ck_assert_uint_le(tries, 3);
        }
    }
}

TEST(a_search_goes_as_far_as_its_index)
{
    uint64_t number;
    uint32_t small;
    SEARCH_FIRST(number, 0, UINT64_MAX, number >= UINT64_MAX - 1);
    ck_assert_uint_eq(number, UINT64_MAX - 1);
    SEARCH_FIRST(number, 5, UINT64_MAX, false);
    ck_assert_uint_eq(number, UINT64_MAX);
    SEARCH_FIRST(small, 0, 200, small >= 199);
    ck_assert_uint_eq(small, 199);
}
