/* How a judge takes note of what its rules break.  What each rule
 * holds of a run is in tests/cases/rules/judge_*.case. */
#include "harness/model/model.h"
#include "harness/rules/private/families.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <string.h>

TEST(rules_of_one_judge_share_it_and_the_first_broken_one_stays)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct judge judge = {.verdict = &verdict, .asked = RULE_WRONG_EVICTION};
    const struct rule_evidence evidence = {.judge = &judge};
    ck_assert(!evidence_break(&evidence, RULE_BUSY_EVICTED, "program %d", 3));
    ck_assert(!evidence_break(&evidence, RULE_WRONG_EVICTION, "later"));
    ck_assert_int_eq(verdict.kind, VERDICT_BROKEN);
    ck_assert_int_eq(verdict.rule, RULE_BUSY_EVICTED);
    ck_assert_str_eq(verdict.reason, "program 3");
}

/* Otherwise the totals would miss an out-of-memory. */
TEST(a_rule_that_breaks_beside_an_out_of_memory_leaves_its_verdict)
{
    static const enum verdict_kind kinds[] = {VERDICT_JUSTIFIED, VERDICT_UNKNOWN, VERDICT_NONE};
    for (size_t i = 0; i < 3; i++) {
        struct verdict verdict = {.kind = kinds[i], .op = 5};
        struct judge judge = {.verdict = &verdict, .asked = RULE_WRONG_EVICTION};
        const struct rule_evidence evidence = {.judge = &judge};
        ck_assert(!evidence_break(&evidence, RULE_BUSY_EVICTED, "program %d", 3));
        ck_assert_int_eq(verdict.kind, VERDICT_BROKEN);
        ck_assert_int_eq(judge.hides_oom, kinds[i] != VERDICT_NONE);
        ck_assert_int_eq(judge.oom_verdict.kind, kinds[i]);
    }
}

/* Ends the process, for the row names another judge. */
TEST(a_rule_is_broken_by_the_judge_of_its_row_alone, .signal = SIGABRT)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    struct judge judge = {.verdict = &verdict, .asked = RULE_OVERLAP};
    (void)evidence_break(&(const struct rule_evidence){.judge = &judge}, RULE_OUTSIDE, "elsewhere");
}

TEST(a_call_alone_and_calls_that_overlap_have_one_judge_of_evictions)
{
    static const char *const reasons[] = {
        "evicted program 7, which is not loaded",
        "evicted program 7, which is not loaded, or no call may evict"};
    for (int overlapping = 0; overlapping < 2; overlapping++) {
        struct verdict verdict = {.kind = VERDICT_NONE};
        struct judge judge = {.verdict = &verdict, .is_overlapping = overlapping != 0};
        const struct rule_evidence evidence = {
            .judge = &judge, .op = 7, .slot = SLOT_NONE, .may_evict = true};
        ck_assert(!rule_judge(RULE_WRONG_EVICTION, &evidence));
        ck_assert_int_eq(verdict.rule, RULE_WRONG_EVICTION);
        ck_assert_str_eq(verdict.reason, reasons[overlapping]);
    }
}
