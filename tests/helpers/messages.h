/* What the program says on standard error while a test runs it. */
#ifndef TESTS_HELPERS_MESSAGES_H
#define TESTS_HELPERS_MESSAGES_H

#include <check.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* From here on it goes to memory.  Returns what messages_end() takes. */
static inline int messages_begin(void)
{
    const int before = dup(STDERR_FILENO);
    const int file = memfd_create("messages", MFD_CLOEXEC);
    ck_assert_int_ge(before, 0);
    ck_assert_int_ge(file, 0);
    (void)fflush(stderr);
    ck_assert_int_ge(dup2(file, STDERR_FILENO), 0);
    close(file);
    return before;
}

/* Puts what came since into text, and standard error back in its place. */
static inline void messages_end(int before, char *text, size_t text_bytes)
{
    (void)fflush(stderr);
    const ssize_t got = pread(STDERR_FILENO, text, text_bytes - 1, 0);
    ck_assert_int_ge(got, 0);
    text[got] = '\0';
    ck_assert_int_ge(dup2(before, STDERR_FILENO), 0);
    close(before);
}

#endif
