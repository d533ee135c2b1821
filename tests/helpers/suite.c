#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

static int run_all(SRunner *runner)
{
    srunner_run_all(runner, CK_NORMAL);
    const int run_count = srunner_ntests_run(runner);
    const int failed_count = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (run_count == 0) {
        fputs("no test was run: CK_RUN_SUITE or CK_RUN_CASE names none\n", stderr);
    }
    return run_count > 0 && failed_count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int suite_run(Suite *suite)
{
    return run_all(srunner_create(suite));
}

static const struct listed_suite *find_suite(const struct listed_suite *suites, size_t count,
                                             const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(suites[i].name, name) == 0) {
            return &suites[i];
        }
    }
    return NULL;
}

int suites_run(const struct listed_suite *suites, size_t count)
{
    const char *name = getenv("CK_RUN_SUITE");
    if (name != NULL) {
        const struct listed_suite *suite = find_suite(suites, count, name);
        if (suite != NULL) {
            return suite_run(suite->make());
        }
        fprintf(stderr, "no suite %s; there are:\n", name);
        for (size_t i = 0; i < count; i++) {
            fprintf(stderr, "    %s\n", suites[i].name);
        }
        return EXIT_FAILURE;
    }
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < count; i++) {
        srunner_add_suite(runner, suites[i].make());
    }
    return run_all(runner);
}
