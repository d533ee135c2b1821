/* Runs a libcheck suite as a whole program: what every test's main ends with.  Whoever asserts much
 * includes it, too. */
#ifndef TESTS_HELPERS_SUITE_H
#define TESTS_HELPERS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* libcheck notes the place of each assertion that holds in a file, which is read when the test has
 * ended, so that it can say behind which one a test crashed.  Some tests have millions, and spent
 * most of their time on that; where a crash is, the sanitizers say. */
#define _mark_point(file, line) ((void)0)

/* Runs all tests of the suite, prints what failed, frees the suite.  The result is main's. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
