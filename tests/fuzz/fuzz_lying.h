/* What stands in the place of true functions (the linker's --wrap) and lies: the environment
 * variable LIAR names the lie, and without it all is as it was. */
#ifndef TESTS_FUZZ_FUZZ_LYING_H
#define TESTS_FUZZ_FUZZ_LYING_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Declares the true function and the one in its place. */
#define WRAPPED(result, name, ...)     \
    result __real_##name(__VA_ARGS__); \
    result __wrap_##name(__VA_ARGS__)

static inline bool is_lying(const char *lie)
{
    const char *liar = getenv("LIAR");
    return liar != NULL && strcmp(liar, lie) == 0;
}

#endif
