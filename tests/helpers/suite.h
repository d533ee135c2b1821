/* Tests that register themselves: a program runs those of all files that it is linked from.
 *
 *     EVERY_TEST(.timeout_s = 60, .teardown = release);
 *
 *     TEST(what_the_test_promises)
 *     {
 *         ck_assert(...);
 *     }
 *
 *     TEST(each_row_keeps_it, .to = ROW_COUNT)
 *     {
 *         ck_assert(... rows[_i] ...);
 *     }
 *
 * The tests of test_<name>.c are the suite <name>. */
#ifndef TESTS_HELPERS_SUITE_H
#define TESTS_HELPERS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* libcheck notes the place of each assertion that holds in a file, which is read when the test has
 * ended, so that it can say behind which one a test crashed.  Some tests have millions, and spent
 * most of their time on that; where a crash is, the sanitizers say. */
#define _mark_point(file, line) ((void)0)

/* Of one test, or of all in its file; zero is what libcheck does by itself. */
struct test_settings {
    bool is_of_file;    /* of every test in it */
    int from, to;       /* runs it for each _i of [from, to); both 0: once */
    int (*count)(void); /* NULL, or gives the end instead of `to` */
    int signal;         /* it passes when this signal ends it */
    int exit_code;      /* it passes when it exits with this code */
    int timeout_s;
    void (*setup)(void), (*teardown)(void); /* before and behind it, in its process */
    void (*begin)(void);                    /* before the first test, in the process of all */
};

struct listed_test {
    TTest test;
    struct test_settings settings;
    struct listed_test *next;
    char suite[64]; /* its name, from that of the file */
};
void test_list(struct listed_test *test);

/* The test that runs in this process, and its _i. */
void test_begin(const struct listed_test *test, int run);
const struct listed_test *test_running(int *run);

/* A test whose body follows; _i is the number of the run.  Settings are members of struct
 * test_settings with their values. */
#define TEST(name, ...)                                                                         \
    static void name##_fn(int _i);                                                              \
    static void name##_run(int _i);                                                             \
    static struct listed_test name##_listed = {                                                 \
        {#name, name##_run, __FILE__, __LINE__}, {.is_of_file = false, __VA_ARGS__}, NULL, ""}; \
    static void name##_run(int _i)                                                              \
    {                                                                                           \
        test_begin(&name##_listed, _i);                                                         \
        name##_fn(_i);                                                                          \
    }                                                                                           \
    __attribute__((constructor)) static void name##_list(void)                                  \
    {                                                                                           \
        test_list(&name##_listed);                                                              \
    }                                                                                           \
    static void name##_fn(int _i __attribute__((unused)))

/* What holds for each test of the file that does not say otherwise. */
#define EVERY_TEST(...)                                                                     \
    __attribute__((constructor)) static void list_every_test(void)                          \
    {                                                                                       \
        static struct listed_test test = {                                                  \
            {NULL, NULL, __FILE__, __LINE__}, {.is_of_file = true, __VA_ARGS__}, NULL, ""}; \
        test_list(&test);                                                                   \
    }                                                                                       \
    _Static_assert(true, "")

/* Who is asked before the first test, and when those of a file have ended; NULL: nobody.  snap.c
 * sets it where a test uses it.  False fails the program. */
struct suite_watcher {
    bool (*begin)(void);
    bool (*end_file)(const char *file, bool is_whole);
};
extern const struct suite_watcher *suite_watcher;

/* Runs all suites, or the one that the environment variable CK_RUN_SUITE names; CK_RUN_CASE
 * chooses a test by name.  Prints what failed.  The result is main's: a failure when a test
 * failed, when no test was run, and when there is no such suite, whose neighbours it names
 * then.  What the tests held with snap() is settled, too (tests/helpers/snap.h). */
int suites_run(void);

#endif
