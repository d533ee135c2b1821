#include "fuzz/finding_check.h"

#include "harness/op/ops_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* One function a check.  Each notes its own number, so that no compiler takes two of them for one.
 */
static volatile enum finding_check ended_in;

#define FINDING(enumerator, name)                                        \
    __attribute__((noinline)) static _Noreturn void finding_##name(void) \
    {                                                                    \
        ended_in = FINDING_##enumerator;                                 \
        abort();                                                         \
    }
#include "fuzz/finding_list.h"
#undef FINDING

static const struct {
    const char *name;
    void (*end)(void);
} checks[FINDING_CHECK_COUNT] = {
#define FINDING(enumerator, name) {#name, finding_##name},
#include "fuzz/finding_list.h"
#undef FINDING
};

const char *finding_check_name(enum finding_check check)
{
    return checks[check].name;
}

_Noreturn void finding_end_check(const char *fuzz_target, enum finding_check check,
                                 const char *reason, ...)
{
    va_list arguments;
    (void)fprintf(stderr, "\nhbmstress: %s found: %s\nreason: ", fuzz_target, checks[check].name);
    va_start(arguments, reason);
    (void)vfprintf(stderr, reason, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    (void)fflush(stderr);
    checks[check].end();
    abort(); /* not reached: no end returns */
}

void finding_print_ops(const char *target_name, const struct setup *setup,
                       const struct op_list *ops)
{
    struct setup named = *setup;
    (void)snprintf(named.target, sizeof named.target, "%s", target_name);
    (void)fputc('\n', stderr);
    ops_file_print(stderr, &named, ops, NULL);
}
