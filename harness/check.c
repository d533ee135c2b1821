#include "harness/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "hbmstress: internal error: %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
