#include "harness/rules/private/rules.h"

#include "harness/base/check.h"

/* NULL: the rule is judged on another road. */
static bool (*const judges[RULE_COUNT])(const struct evidence *evidence) = {
#define JUDGE(function) function
#define ROAD(name) NULL
#define RULE(enumerator, name, promise, judge, plant) [RULE_##enumerator] = judge,
#include "harness/oracle/rule_list.h"
#undef RULE
#undef ROAD
#undef JUDGE
};

bool rule_judge(enum rule rule, const struct evidence *evidence)
{
    CHECK(rule < RULE_COUNT);
    CHECK(judges[rule] != NULL);
    evidence->judge->asked = rule;
    return judges[rule](evidence);
}
