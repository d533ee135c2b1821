/* The list of findings.  tests/cases/rules/going_on.case has what a run goes on after. */
#include "harness/run/run.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>

static struct run_findings findings;
static const struct op_list ops;

static struct verdict break_rule(enum rule rule, uint32_t op, const char *mechanism)
{
    struct verdict verdict = {.kind = VERDICT_BROKEN, .rule = rule, .op = op};
    (void)snprintf(verdict.mechanism, sizeof verdict.mechanism, "%s", mechanism);
    (void)snprintf(verdict.reason, sizeof verdict.reason, "op %u", op);
    return verdict;
}

/* RUN_FINDING_COUNT_MAX of them: broken counters "0", "1", ... */
static void fill(void)
{
    findings.count = 0;
    for (uint32_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
        char mechanism[16];
        (void)snprintf(mechanism, sizeof mechanism, "%u", i);
        const struct verdict verdict = break_rule(RULE_COUNTERS, i, mechanism);
        run_findings_add(&findings, &verdict, &ops, "");
    }
    ck_assert_uint_eq(findings.count, RUN_FINDING_COUNT_MAX);
}

/* And harm, however much was found before. */
TEST(a_full_list_takes_no_more_but_the_verdict_that_ended_the_run, .to = 2)
{
    fill();
    const struct verdict more = break_rule(RULE_REPORT, 90, "sums");
    run_findings_add(&findings, &more, &ops, "");
    ck_assert_uint_eq(findings.count, RUN_FINDING_COUNT_MAX);
    ck_assert_ptr_null(run_findings_find(&findings, "report: sums"));
    const struct verdict last = break_rule(RULE_OVERLAP, 91, "answer");
    if (_i == 0) {
        run_findings_set(&findings, &last, &ops);
    } else {
        run_findings_add(&findings, &last, &ops, "");
    }
    ck_assert_uint_eq(findings.count, RUN_FINDING_COUNT_MAX);
    ck_assert_ptr_null(run_findings_find(&findings, "counters: 15"));
    ck_assert_ptr_nonnull(run_findings_find(&findings, "counters: 14"));
    ck_assert_uint_eq(run_findings_gravest(&findings)->verdict.op, 91);
}

TEST(the_verdict_that_ended_the_run_takes_the_place_of_its_like)
{
    fill();
    const struct verdict same = break_rule(RULE_COUNTERS, 90, "3");
    run_findings_add(&findings, &same, &ops, "");
    ck_assert_uint_eq(findings.findings[3].verdict.op, 3); /* the first stays */
    run_findings_set(&findings, &same, &ops);
    ck_assert_uint_eq(findings.findings[3].verdict.op, 90);
    ck_assert_str_eq(findings.findings[3].verdict.reason, "op 90");
    ck_assert_uint_eq(findings.count, RUN_FINDING_COUNT_MAX);
}

TEST(the_gravest_finding_moves_to_the_front_and_the_others_keep_their_order)
{
    findings.count = 0;
    const struct verdict broken[] = {break_rule(RULE_REPORT, 1, "sums"),
                                     break_rule(RULE_MESSAGE, 2, "words"),
                                     break_rule(RULE_STATUS, 3, "free returned FAILED"),
                                     break_rule(RULE_STATUS, 4, "alloc returned FAILED")};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        run_findings_add(&findings, &broken[i], &ops, "");
    }
    run_findings_settle(&findings);
    static const uint32_t order[] = {3, 1, 2, 4};
    ck_assert_uint_eq(findings.count, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(findings.findings[i].verdict.op, order[i]);
    }
}
