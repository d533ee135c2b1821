#include "harness/oracle/verdict.h"

#include "harness/base/check.h"

const char *verdict_name(enum verdict_kind kind)
{
    static const char *const names[] = {
        [VERDICT_NONE] = "none",           [VERDICT_JUSTIFIED] = "justified",
        [VERDICT_PREMATURE] = "premature", [VERDICT_UNKNOWN] = "unknown",
        [VERDICT_BROKEN] = "broken",       [VERDICT_DISPUTED] = "disputed",
    };
    CHECK(kind < sizeof names / sizeof names[0]);
    return names[kind];
}
