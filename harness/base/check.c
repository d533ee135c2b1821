#include "harness/base/check.h"

#include "harness/base/standard.h"

#include <stdio.h>
#include <stdlib.h>

void (*check_failed_hook)(const char *text);

_Noreturn void check_failed(const char *condition, const char *file, int line)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%s:%d: %s does not hold", file, line, condition);
    fprintf(standard_error(), "hbmstress: internal error: %s\n", text);
    if (check_failed_hook != NULL) {
        check_failed_hook(text);
    }
    abort();
}
