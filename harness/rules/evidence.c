#include "harness/rules/private/evidence.h"

#include "harness/base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names what was looked at, which tells most rules apart; some are judged in one way alone. */
static const char *name_sight(const struct evidence *evidence, enum rule rule)
{
    static const char *const names[] = {
#define SIGHT(enumerator, mechanism) mechanism,
#include "harness/rules/private/sight_list.h"
#undef SIGHT
    };
    switch (rule) {
    case RULE_NOT_COALESCED:
        return "empty heap";
    case RULE_SPMD:
        return "hosts differ";
    case RULE_BUSY_EVICTED:
        return "program in use";
    case RULE_WRONG_EVICTION:
        return evidence->may_evict ? "program that is not loaded" : "request that may not evict";
    default:
        CHECK(evidence->sight < sizeof names / sizeof names[0]);
        return names[evidence->sight];
    }
}

/* True if the rule is the gravest of its op so far: that is reported, and of equals the first. */
static bool is_graver(const struct verdict *verdict, enum rule rule)
{
    const bool is_first = verdict->kind != VERDICT_BROKEN && verdict->kind != VERDICT_PREMATURE &&
                          verdict->kind != VERDICT_DISPUTED;
    return is_first ||
           (verdict->kind != VERDICT_DISPUTED && rule_gravity(rule) > rule_gravity(verdict->rule));
}

/* Sets the verdict.  That on an out-of-memory is kept: there is one verdict on each. */
static void set_verdict(struct judge *judge, enum rule rule, const char *mechanism,
                        const char *format, va_list arguments)
{
    struct verdict *verdict = judge->verdict;
    if (verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_UNKNOWN) {
        judge->oom_verdict = *verdict;
        judge->hides_oom = true;
    }
    verdict->kind = VERDICT_BROKEN;
    verdict->rule = rule;
    (void)snprintf(verdict->mechanism, sizeof verdict->mechanism, "%s", mechanism);
    (void)vsnprintf(verdict->reason, sizeof verdict->reason, format, arguments);
}

/* Breaks the rule; true if a run that goes on after findings goes on after this one, too. */
static bool break_rule(const struct evidence *evidence, enum rule rule, const char *mechanism,
                       const char *format, va_list arguments)
{
    struct judge *judge = evidence->judge;
    const bool goes_on = judge->goes_on && rule_gravity(rule) < GRAVITY_HARM;
    if (mechanism == NULL) {
        mechanism = name_sight(evidence, rule);
    }
    CHECK(strcmp(rule_info(rule)->judge, rule_info(judge->asked)->judge) == 0);
    judge->has_wrong_status = judge->has_wrong_status || rule == RULE_STATUS;
    /* A second break of the reported rule in one op comes from the first.  A finding that a graver
     * rule hides is reported when it shows alone. */
    const bool is_graver_now = is_graver(judge->verdict, rule);
    const bool was_told = goes_on && (is_graver_now || judge->verdict->rule == rule) &&
                          judge_was_told(judge, rule, mechanism);
    if (is_graver_now && !was_told) {
        set_verdict(judge, rule, mechanism, format, arguments);
    }
    return goes_on;
}

bool evidence_break(const struct evidence *evidence, enum rule rule, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const bool goes_on = break_rule(evidence, rule, NULL, format, arguments);
    va_end(arguments);
    return goes_on;
}

bool evidence_break_as(const struct evidence *evidence, enum rule rule, const char *mechanism,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const bool goes_on = break_rule(evidence, rule, mechanism, format, arguments);
    va_end(arguments);
    return goes_on;
}

bool evidence_end(const struct evidence *evidence, enum rule rule, const char *mechanism,
                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)break_rule(evidence, rule, mechanism, format, arguments);
    va_end(arguments);
    evidence->judge->cannot_follow = true;
    return false;
}

/* NULL: the rule is judged on another road. */
static bool (*const judges[RULE_COUNT])(const struct evidence *evidence) = {
#define JUDGE(function) function
#define ROAD(name) NULL
#define RULE(enumerator, name, gravity, promise, judge, plant) [RULE_##enumerator] = judge,
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
