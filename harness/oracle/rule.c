#include "harness/oracle/rule.h"

#include "harness/base/check.h"

#include <string.h>

static const struct rule_info rules[RULE_COUNT] = {
    [RULE_NONE] = {"none", "no promise is broken", GRAVITY_HARM, "", NULL},
#define JUDGE(function) #function
#define ROAD(name) name
#define RULE(enumerator, name, gravity, promise, judge, plant) \
    [RULE_##enumerator] = {#name, promise, GRAVITY_##gravity, judge, plant},
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
    return rule_info(rule)->gravity;
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
