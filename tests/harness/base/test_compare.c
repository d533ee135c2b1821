/* The order of numbers that sorting relies on. */
#include "harness/base/compare.h"
#include "tests/helpers/suite.h"

#include <check.h>

START_TEST(numbers_are_ordered_as_far_as_they_go)
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
END_TEST

Suite *suite_of_compare(void)
{
    Suite *suite = suite_create("compare");
    TCase *tests = tcase_create("compare");
    tcase_add_test(tests, numbers_are_ordered_as_far_as_they_go);
    suite_add_tcase(suite, tests);
    return suite;
}
