#include "allocator/private/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void hbm_check_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: libhbm invariant broken: %s\n", file, line, condition);
    abort();
}
