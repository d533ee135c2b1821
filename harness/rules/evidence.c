#include "harness/rules/private/families.h"

#include "harness/base/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Names what was looked at, which tells most rules apart; some are judged in one way alone. */
static const char *name_sight(const struct rule_evidence *evidence, enum rule rule)
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

/* --- reasons --- */

/* A fact that a reason names in braces. */
struct reason_fact {
    const char *name; /* with the brace that ends it */
    enum { OF_EVIDENCE, OF_BLOCK, OF_OTHER, OF_MADE } source;
    enum { ADDRESS, BYTES, COUNT } kind; /* 64 bits in hexadecimal or decimal digits; 32 bits */
    size_t offset;                       /* in the source */
};
static const struct reason_fact facts[] = {
    {"at}", OF_EVIDENCE, ADDRESS, offsetof(struct rule_evidence, address)},
    {"size}", OF_EVIDENCE, BYTES, offsetof(struct rule_evidence, size_bytes)},
    {"asked}", OF_EVIDENCE, BYTES, offsetof(struct rule_evidence, asked_bytes)},
    {"align}", OF_EVIDENCE, BYTES, offsetof(struct rule_evidence, align_bytes)},
    {"reservable}", OF_EVIDENCE, BYTES, offsetof(struct rule_evidence, reservable_bytes)},
    {"number}", OF_EVIDENCE, BYTES, offsetof(struct rule_evidence, op)},
    {"count}", OF_EVIDENCE, BYTES, offsetof(struct rule_evidence, count)},
    {"block}", OF_BLOCK, COUNT, offsetof(struct block, op)},
    {"was}", OF_BLOCK, ADDRESS, offsetof(struct block, address)},
    {"had}", OF_BLOCK, BYTES, offsetof(struct block, size_bytes)},
    {"holds}", OF_BLOCK, COUNT, offsetof(struct block, hold_count)},
    {"uses}", OF_BLOCK, COUNT, offsetof(struct block, use_count)},
    {"other}", OF_OTHER, COUNT, offsetof(struct block, op)},
    {"other_at}", OF_OTHER, ADDRESS, offsetof(struct block, address)},
    {"recording}", OF_OTHER, COUNT, offsetof(struct block, recording)},
    {"made_from}", OF_MADE, ADDRESS, offsetof(struct device_call, from)},
    {"made_to}", OF_MADE, ADDRESS, offsetof(struct device_call, to)},
    {"made_bytes}", OF_MADE, BYTES, offsetof(struct device_call, bytes)},
};

static const void *find_source(const struct rule_evidence *evidence, const struct reason_fact *fact)
{
    switch (fact->source) {
    case OF_BLOCK:
        return evidence_block(evidence);
    case OF_OTHER:
        return model_block(evidence->host->model, evidence->other);
    case OF_MADE:
        return evidence->made;
    default:
        return evidence;
    }
}

/* Prints the fact that is named at *name, which comes to stand behind the name; "op": the kind of
 * the op that is judged. */
static int print_fact(const struct rule_evidence *evidence, const char **name, char *text,
                      size_t bytes)
{
    if (strncmp(*name, "op}", 3) == 0) {
        *name += 3;
        return snprintf(text, bytes, "%s", op_kind_info(evidence->call->op.kind)->name);
    }
    const struct reason_fact *fact = facts;
    while (strncmp(*name, fact->name, strlen(fact->name)) != 0) {
        CHECK(++fact < facts + sizeof facts / sizeof facts[0]);
    }
    *name += strlen(fact->name);
    const void *value = (const char *)find_source(evidence, fact) + fact->offset;
    return fact->kind == ADDRESS ? snprintf(text, bytes, "0x%" PRIx64, *(const uint64_t *)value)
           : fact->kind == BYTES ? snprintf(text, bytes, "%" PRIu64, *(const uint64_t *)value)
                                 : snprintf(text, bytes, "%" PRIu32, *(const uint32_t *)value);
}

/* Returns the format with the facts in the place of their names. */
static const char *put_facts(const struct rule_evidence *evidence, const char *format,
                             char text[VERDICT_REASON_BYTES])
{
    size_t used = 0;
    while (*format != '\0') {
        CHECK(used + 32 < VERDICT_REASON_BYTES); /* formats are ours, and short */
        if (*format != '{') {
            text[used++] = *format++;
            continue;
        }
        format++;
        used += (size_t)print_fact(evidence, &format, text + used, VERDICT_REASON_BYTES - used);
    }
    text[used] = '\0';
    return text;
}

/* --- breaking --- */

/* Sets the verdict.  That on an out-of-memory is kept: there is one verdict on each. */
static void set_verdict(const struct rule_evidence *evidence, enum rule rule, const char *mechanism,
                        const char *format, va_list arguments)
{
    struct judge *judge = evidence->judge;
    struct verdict *verdict = judge->verdict;
    char text[VERDICT_REASON_BYTES];
    if (verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_UNKNOWN) {
        judge->oom_verdict = *verdict;
        judge->hides_oom = true;
    }
    verdict->kind = VERDICT_BROKEN;
    verdict->rule = rule;
    (void)snprintf(verdict->mechanism, sizeof verdict->mechanism, "%s", mechanism);
    (void)vsnprintf(verdict->reason, sizeof verdict->reason, put_facts(evidence, format, text),
                    arguments);
}

/* Breaks the rule; true if a run that goes on after findings goes on after this one, too. */
static bool break_rule(const struct rule_evidence *evidence, enum rule rule, const char *mechanism,
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
        set_verdict(evidence, rule, mechanism, format, arguments);
    }
    return goes_on;
}

bool evidence_break(const struct rule_evidence *evidence, enum rule rule, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const bool goes_on = break_rule(evidence, rule, NULL, format, arguments);
    va_end(arguments);
    return goes_on;
}

bool evidence_break_as(const struct rule_evidence *evidence, enum rule rule, const char *mechanism,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const bool goes_on = break_rule(evidence, rule, mechanism, format, arguments);
    va_end(arguments);
    return goes_on;
}

bool evidence_end(const struct rule_evidence *evidence, enum rule rule, const char *mechanism,
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
static bool (*const judges[RULE_COUNT])(const struct rule_evidence *evidence) = {
#define JUDGE(function) function
#define ROAD(name) NULL
#define RULE(enumerator, name, gravity, promise, judge, plant) [RULE_##enumerator] = judge,
#include "harness/oracle/rule_list.h"
#undef RULE
#undef ROAD
#undef JUDGE
};

bool rule_judge(enum rule rule, const struct rule_evidence *evidence)
{
    CHECK(rule < RULE_COUNT);
    CHECK(judges[rule] != NULL);
    evidence->judge->asked = rule;
    return judges[rule](evidence);
}
