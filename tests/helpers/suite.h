/* Runs libcheck suites as a whole program.  Whoever asserts much includes it, too. */
#ifndef TESTS_HELPERS_SUITE_H
#define TESTS_HELPERS_SUITE_H

#include <check.h>
#include <stddef.h>
#include <stdlib.h>

/* libcheck notes the place of each assertion that holds in a file, which is read when the test has
 * ended, so that it can say behind which one a test crashed.  Some tests have millions, and spent
 * most of their time on that; where a crash is, the sanitizers say. */
#define _mark_point(file, line) ((void)0)

/* One suite of a program: test_<name>.c defines Suite *suite_of_<name>(void), and gives the suite
 * the same name. */
struct listed_suite {
    const char *name;
    Suite *(*make)(void);
};

/* Runs all tests of the suite, prints what failed, frees the suite.  The result is main's: a
 * failure when a test failed, and when none was run (CK_RUN_SUITE and CK_RUN_CASE choose). */
int suite_run(Suite *suite);

/* The same for all suites, or for the one that the environment variable CK_RUN_SUITE names.  Prints
 * the names there are when it names none of them, which is a failure. */
int suites_run(const struct listed_suite *suites, size_t count);

#endif
