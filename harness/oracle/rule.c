#include "harness/oracle/rule.h"

#include "harness/base/check.h"

#include <string.h>

static const struct rule_info rules[RULE_COUNT] = {
    [RULE_NONE] = {"none", "no promise is broken", "", NULL},
#define JUDGE(function) #function
#define ROAD(name) name
#define RULE(enumerator, name, promise, judge, plant) \
    [RULE_##enumerator] = {#name, promise, judge, plant},
#include "harness/oracle/rule_list.h"
#undef RULE
#undef ROAD
#undef JUDGE
};

const struct rule_info *rule_info(enum rule rule)
{
    CHECK(rule < RULE_COUNT);
    return &rules[rule];
}

enum rule_gravity rule_gravity(enum rule rule)
{
    switch (rule) {
    case RULE_COUNTERS:
    case RULE_MESSAGE:
    case RULE_REPORT:
    case RULE_NOT_COALESCED:
    case RULE_REGRET:
    case RULE_ORDER:
    case RULE_OWNERSHIP:
    case RULE_HELD_BACK:
    case RULE_COST:
    case RULE_LATENCY:
        return GRAVITY_NUMBERS;
    case RULE_PREMATURE:
    case RULE_STATUS:
    case RULE_RETRY:
    case RULE_RELATION:
    case RULE_TOO_LARGE:
        return GRAVITY_ANSWER;
    default:
        return GRAVITY_HARM;
    }
}

enum rule rule_find(const char *name)
{
    for (unsigned i = 1; i < RULE_COUNT; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            return (enum rule)i;
        }
    }
    return RULE_NONE;
}
