#include "harness/rules/private/evidence.h"

#include "harness/base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool evidence_break(const struct evidence *evidence, enum rule rule, const char *format, ...)
{
    const struct judge *judge = evidence->judge;
    struct verdict *verdict = judge->verdict;
    CHECK(strcmp(rule_info(rule)->judge, rule_info(judge->asked)->judge) == 0);
    if (verdict->kind == VERDICT_BROKEN) {
        return false;
    }
    verdict->kind = VERDICT_BROKEN;
    verdict->rule = rule;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->reason, sizeof verdict->reason, format, arguments);
    va_end(arguments);
    return false;
}
