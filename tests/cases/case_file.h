/* Tests as text: tests/cases/README.md has the form.  A file is read once; each test in it, and
 * each row of a test that has rows, is a case. */
#ifndef TESTS_CASES_CASE_FILE_H
#define TESTS_CASES_CASE_FILE_H

#include <stddef.h>

struct case_line {
    char *text; /* without blanks at its ends, never a comment, never empty */
    size_t number;
};

struct test_case {
    char *file, *title;
    size_t line;             /* of the title */
    struct case_line *lines; /* count of them: setup and steps, the values of the row put in */
    size_t count;
    struct test_case *next;
};

/* Keeps a text of malloc() until the program ends; returns it. */
char *case_keep(char *text);

/* Reads all files NAME.case in the folder and those within it, in the order of their paths.  Ends
 * the program where one cannot be read or has another form. */
struct test_case *cases_read(const char *folder);

#endif
