#include "explore/private/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void explore_check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "hbmstress: internal error: %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
