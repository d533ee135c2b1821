/* Where a test keeps the files that it makes. */
#ifndef TESTS_HELPERS_SCRATCH_H
#define TESTS_HELPERS_SCRATCH_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

enum { SCRATCH_PATH_BYTES = 256 };

/* TMPDIR, or /tmp. */
static inline const char *scratch_place(void)
{
    const char *place = getenv("TMPDIR");
    return place == NULL || place[0] == '\0' ? "/tmp" : place;
}

/* Makes path a name there for mkstemp or mkdtemp. */
static inline void scratch_name(char path[SCRATCH_PATH_BYTES], const char *test)
{
    const int length = snprintf(path, SCRATCH_PATH_BYTES, "%s/%s_XXXXXX", scratch_place(), test);
    ck_assert_int_lt(length, SCRATCH_PATH_BYTES);
}

#endif
