#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

const struct suite_watcher *suite_watcher;
static struct listed_test *tests;
static const struct listed_test *running;
static int running_run;

void test_begin(const struct listed_test *test, int run)
{
    running = test;
    running_run = run;
}

const struct listed_test *test_running(int *run)
{
    *run = running_run;
    return running;
}

/* By file: first what holds for every test in it, then its tests by line. */
static bool is_before(const struct listed_test *a, const struct listed_test *b)
{
    const int order = strcmp(a->test.file, b->test.file);
    if (order != 0) {
        return order < 0;
    }
    return a->settings.is_of_file || (!b->settings.is_of_file && a->test.line < b->test.line);
}

/* "rounds" of "tests/harness/rules/test_rounds.c". */
static void set_suite(struct listed_test *test)
{
    const char *name = strrchr(test->test.file, '/');
    name = name == NULL ? test->test.file : name + 1;
    name += strncmp(name, "test_", 5) == 0 ? 5 : 0;
    snprintf(test->suite, sizeof test->suite, "%.*s", (int)strcspn(name, "."), name);
}

void test_list(struct listed_test *test)
{
    set_suite(test);
    struct listed_test **at = &tests;
    while (*at != NULL && is_before(*at, test)) {
        at = &(*at)->next;
    }
    test->next = *at;
    *at = test;
}

static void add_test(Suite *suite, const struct listed_test *test,
                     const struct test_settings *of_file)
{
    const struct test_settings *own = &test->settings;
    TCase *one = tcase_create(test->test.name);
    const int end = own->count != NULL ? own->count() : own->to;
    const int timeout_s = own->timeout_s != 0 ? own->timeout_s : of_file->timeout_s;
    if (timeout_s != 0) {
        tcase_set_timeout(one, timeout_s);
    }
    tcase_add_checked_fixture(one, own->setup != NULL ? own->setup : of_file->setup,
                              own->teardown != NULL ? own->teardown : of_file->teardown);
    _tcase_add_test(one, &test->test, own->signal, own->exit_code, own->from,
                    end == 0 && own->count == NULL ? 1 : end);
    suite_add_tcase(suite, one);
}

/* Adds the suite of the file at the beginning of a list, and returns where the next file begins. */
static const struct listed_test *add_suite(SRunner *runner, const struct listed_test *first,
                                           const char *wanted)
{
    static const struct test_settings none;
    const struct test_settings *of_file = &none;
    const struct listed_test *test = first;
    const bool is_wanted = wanted == NULL || strcmp(wanted, first->suite) == 0;
    Suite *suite = is_wanted ? suite_create(first->suite) : NULL;
    for (; test != NULL && strcmp(test->test.file, first->test.file) == 0; test = test->next) {
        if (!is_wanted) {
            continue;
        }
        if (test->settings.is_of_file) {
            of_file = &test->settings;
            if (of_file->begin != NULL) {
                of_file->begin();
            }
        } else {
            add_test(suite, test, of_file);
        }
    }
    if (is_wanted) {
        srunner_add_suite(runner, suite);
    }
    return test;
}

static void print_suites(const char *wanted)
{
    const char *file = "";
    fprintf(stderr, "no test of suite %s was run; there are:\n", wanted);
    for (const struct listed_test *test = tests; test != NULL; test = test->next) {
        if (strcmp(test->test.file, file) != 0) {
            file = test->test.file;
            fprintf(stderr, "    %s\n", test->suite);
        }
    }
}

/* Each file whose tests were run, with what they printed. */
static bool end_snaps(const char *wanted, bool is_whole)
{
    bool is_good = true;
    const char *file = "";
    for (const struct listed_test *test = tests; test != NULL; test = test->next) {
        if (strcmp(test->test.file, file) != 0) {
            file = test->test.file;
            if (wanted == NULL || strcmp(wanted, test->suite) == 0) {
                is_good &= suite_watcher->end_file(file, is_whole);
            }
        }
    }
    return is_good;
}

int suites_run(void)
{
    const char *wanted = getenv("CK_RUN_SUITE");
    if (suite_watcher != NULL && !suite_watcher->begin()) {
        return EXIT_FAILURE;
    }
    SRunner *runner = srunner_create(NULL);
    for (const struct listed_test *test = tests; test != NULL;) {
        test = add_suite(runner, test, wanted);
    }
    srunner_run_all(runner, CK_NORMAL);
    const int run_count = srunner_ntests_run(runner);
    const int failed_count = srunner_ntests_failed(runner);
    srunner_free(runner);
    const bool is_whole = failed_count == 0 && run_count > 0 && getenv("CK_RUN_CASE") == NULL;
    const bool is_held = suite_watcher == NULL || end_snaps(wanted, is_whole);
    if (run_count == 0 && wanted != NULL) {
        print_suites(wanted);
    } else if (run_count == 0) {
        fputs("no test was run: CK_RUN_CASE names none\n", stderr);
    }
    return run_count > 0 && failed_count == 0 && is_held ? EXIT_SUCCESS : EXIT_FAILURE;
}
