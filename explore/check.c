#include "explore/private/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void explore_check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: a promise of our own does not hold: %s\n", file, line, condition);
    abort();
}
