#include "harness/oracle/verdict.h"

#include "harness/base/check.h"
#include "harness/base/json.h"

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

const char *oom_class_name(enum oom_class class)
{
    static const char *const names[] = {
        [OOM_PLAIN] = "plain", [OOM_ALIGNED] = "aligned", [OOM_HELD] = "held"};
    CHECK(class < sizeof names / sizeof names[0]);
    return names[class];
}

void premature_unless_add_json(const struct premature_unless *unless, struct writing *text)
{
    if (unless->bytes == 0) {
        return;
    }
    json_nest(text, "premature_unless", '{');
    json_add_number(text, "bytes", unless->bytes);
    json_add_number(text, "from", unless->from);
    json_add_number(text, "to", unless->to);
    json_unnest(text, '}');
}
