/* What becomes of a broken rule: which of several is told, what it is called, and what of the op
 * stays known besides. */
#include "harness/model/model.h"
#include "harness/rules/private/families.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A judge that is asked about the rule, and what it says of the op. */
static struct verdict said;
static struct judge judge;

static void begin_judge(void)
{
    said = (struct verdict){.kind = VERDICT_NONE};
    judge = (struct judge){.verdict = &said};
}

EVERY_TEST(.setup = begin_judge);

/* Breaks the rule with the mechanism; NULL: what was looked at names it. */
static bool break_rule(enum rule rule, const char *mechanism)
{
    const struct rule_evidence evidence = {.judge = &judge};
    judge.asked = rule;
    return evidence_break_as(&evidence, rule, mechanism, "%s is broken", rule_info(rule)->name);
}

static void begin_op(void)
{
    said = (struct verdict){.kind = VERDICT_NONE};
}

/* In one op after the other: whether it is told. */
struct told {
    enum rule rule;
    const char *mechanism;
    bool is_told;
};

static void check_told(const struct told *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        begin_op();
        (void)break_rule(ops[i].rule, ops[i].mechanism);
        ck_assert_msg((said.kind == VERDICT_BROKEN) == ops[i].is_told, "op %zu: %s", i,
                      ops[i].mechanism);
    }
}

/* --- which of two is told --- */

TEST(the_gravest_of_an_op_is_told_and_of_equally_grave_ones_the_first)
{
    static const struct {
        enum verdict_kind kind; /* what was said of the op before */
        enum rule before, rule;
        bool is_told;
    } rows[] = {
        {VERDICT_NONE, RULE_NONE, RULE_COUNTERS, true},
        {VERDICT_JUSTIFIED, RULE_NONE, RULE_COUNTERS, true},
        {VERDICT_UNKNOWN, RULE_NONE, RULE_COUNTERS, true},
        {VERDICT_BROKEN, RULE_COUNTERS, RULE_OVERLAP, true},
        {VERDICT_BROKEN, RULE_COUNTERS, RULE_STATUS, true},
        {VERDICT_BROKEN, RULE_STATUS, RULE_OVERLAP, true},
        {VERDICT_BROKEN, RULE_COUNTERS, RULE_REPORT, false},
        {VERDICT_BROKEN, RULE_STATUS, RULE_TOO_LARGE, false},
        {VERDICT_BROKEN, RULE_OVERLAP, RULE_OUTSIDE, false},
        {VERDICT_BROKEN, RULE_OVERLAP, RULE_COUNTERS, false},
        {VERDICT_BROKEN, RULE_STATUS, RULE_COUNTERS, false},
        {VERDICT_PREMATURE, RULE_PREMATURE, RULE_COUNTERS, false},
        {VERDICT_PREMATURE, RULE_PREMATURE, RULE_STATUS, false},
        {VERDICT_PREMATURE, RULE_PREMATURE, RULE_OVERLAP, true},
        /* That our own judges disagree is worse than whatever a target does. */
        {VERDICT_DISPUTED, RULE_NONE, RULE_COUNTERS, false},
        {VERDICT_DISPUTED, RULE_NONE, RULE_OVERLAP, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_judge();
        said.kind = rows[i].kind;
        said.rule = rows[i].before;
        ck_assert(!break_rule(rows[i].rule, "now"));
        const bool is_told = said.kind == VERDICT_BROKEN && said.rule == rows[i].rule;
        ck_assert_msg(is_told == rows[i].is_told, "row %zu: %s", i, rule_info(said.rule)->name);
        ck_assert_str_eq(said.mechanism, is_told ? "now" : "");
        ck_assert_msg(is_told || said.kind == rows[i].kind, "row %zu", i);
    }
}

/* There is one verdict on each out-of-memory, and totals count it. */
TEST(a_verdict_on_an_out_of_memory_is_kept_once_behind_a_broken_rule)
{
    said.kind = VERDICT_UNKNOWN;
    said.op = 7;
    (void)break_rule(RULE_MESSAGE, "words");
    (void)break_rule(RULE_OVERLAP, "copy");
    ck_assert(judge.hides_oom);
    ck_assert_int_eq(judge.oom_verdict.kind, VERDICT_UNKNOWN);
    ck_assert_uint_eq(judge.oom_verdict.op, 7);
    ck_assert_int_eq(said.rule, RULE_OVERLAP);
    ck_assert_str_eq(said.reason, "overlap is broken");
    begin_judge();
    said = (struct verdict){.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE};
    (void)break_rule(RULE_OVERLAP, "copy");
    ck_assert(!judge.hides_oom); /* a premature one is a finding of its own */
}

/* Of an answer that is wrong by itself nothing else is asked. */
TEST(a_wrong_status_is_remembered_whatever_else_breaks)
{
    (void)break_rule(RULE_COUNTERS, "a");
    ck_assert(!judge.has_wrong_status);
    (void)break_rule(RULE_STATUS, "b");
    ck_assert(judge.has_wrong_status);
    (void)break_rule(RULE_OVERLAP, "c");
    ck_assert(judge.has_wrong_status);
}

/* --- whether the run goes on --- */

TEST(a_run_goes_on_after_every_rule_that_does_no_harm)
{
    for (unsigned i = 1; i < RULE_COUNT; i++) {
        for (int goes_on = 0; goes_on < 2; goes_on++) {
            begin_judge();
            judge.goes_on = goes_on != 0;
            const bool is_harm = rule_gravity((enum rule)i) == GRAVITY_HARM;
            ck_assert_msg(break_rule((enum rule)i, "now") == (goes_on != 0 && !is_harm), "%s",
                          rule_info((enum rule)i)->name);
            ck_assert_int_eq(said.rule, i);
        }
    }
}

TEST(what_the_model_cannot_follow_ends_every_run)
{
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        begin_judge();
        judge.goes_on = goes_on != 0;
        judge.asked = RULE_STATUS;
        const struct rule_evidence evidence = {.judge = &judge};
        ck_assert(!evidence_break_as(&evidence, RULE_STATUS, "now", "one") || goes_on != 0);
        ck_assert(!judge.cannot_follow);
        begin_op();
        ck_assert(!evidence_end(&evidence, RULE_STATUS, "now", "number %d", 2));
        ck_assert(judge.cannot_follow);
        if (goes_on == 0) { /* a run that goes on heard of it before */
            ck_assert_str_eq(said.reason, "number 2");
        }
    }
}

/* --- what is told again --- */

TEST(a_run_that_goes_on_tells_each_mechanism_of_a_rule_once)
{
    static const struct told ops[] = {
        {RULE_COUNTERS, "a", true},  {RULE_COUNTERS, "a", false}, {RULE_COUNTERS, "b", true},
        {RULE_REPORT, "a", true},    {RULE_REPORT, "a", false},   {RULE_COUNTERS, "b", false},
        {RULE_OVERLAP, "a", true},   {RULE_OVERLAP, "a", true}, /* harm ends the run */
        {RULE_COUNTERS, "a", false},
    };
    judge.goes_on = true;
    check_told(ops, sizeof ops / sizeof ops[0]);
}

/* What comes of the rule that is told is no finding of its own; what a graver rule hides is. */
TEST(what_was_hidden_in_one_op_is_told_in_a_later_one)
{
    judge.goes_on = true;
    (void)break_rule(RULE_STATUS, "a");
    (void)break_rule(RULE_STATUS, "b"); /* of the same rule: it comes from that */
    (void)break_rule(RULE_COUNTERS, "c");
    ck_assert_str_eq(said.mechanism, "a");
    static const struct told later[] = {
        {RULE_STATUS, "a", false}, {RULE_STATUS, "b", false}, {RULE_COUNTERS, "c", true}};
    check_told(later, 3);
}

TEST(a_run_that_does_not_go_on_remembers_nothing)
{
    static const struct told ops[] = {{RULE_COUNTERS, "a", true}, {RULE_COUNTERS, "a", true}};
    check_told(ops, 2);
    ck_assert_uint_eq(judge.told.count, 0);
}

TEST(no_more_is_told_once_so_many_mechanisms_were)
{
    char mechanism[16];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < JUDGE_TOLD_COUNT_MAX; i++) {
            (void)snprintf(mechanism, sizeof mechanism, "%d", i);
            ck_assert_int_eq(judge_was_told(&judge, RULE_COUNTERS, mechanism), round == 1);
        }
        ck_assert(round == 0 || judge_was_told(&judge, RULE_COUNTERS, "one more"));
        ck_assert(round == 0 || judge_was_told(&judge, RULE_REPORT, "0"));
        ck_assert_uint_eq(judge.told.count, JUDGE_TOLD_COUNT_MAX);
    }
}

/* --- rows --- */

TEST(rules_of_one_judge_share_it_and_the_first_broken_one_stays)
{
    const struct rule_evidence evidence = {.judge = &judge};
    judge.asked = RULE_WRONG_EVICTION;
    ck_assert(!evidence_break(&evidence, RULE_BUSY_EVICTED, "program %d", 3));
    ck_assert(!evidence_break(&evidence, RULE_WRONG_EVICTION, "later"));
    ck_assert_int_eq(said.kind, VERDICT_BROKEN);
    ck_assert_int_eq(said.rule, RULE_BUSY_EVICTED);
    ck_assert_str_eq(said.reason, "program 3");
}

/* Otherwise the totals would miss an out-of-memory. */
TEST(a_rule_that_breaks_beside_an_out_of_memory_leaves_its_verdict)
{
    static const enum verdict_kind kinds[] = {VERDICT_JUSTIFIED, VERDICT_UNKNOWN, VERDICT_NONE};
    for (size_t i = 0; i < 3; i++) {
        begin_judge();
        said = (struct verdict){.kind = kinds[i], .op = 5};
        ck_assert(!break_rule(RULE_BUSY_EVICTED, NULL));
        ck_assert_int_eq(said.kind, VERDICT_BROKEN);
        ck_assert_int_eq(judge.hides_oom, kinds[i] != VERDICT_NONE);
        ck_assert_int_eq(judge.oom_verdict.kind, kinds[i]);
    }
}

/* Ends the process, for the row names another judge. */
TEST(a_rule_is_broken_by_the_judge_of_its_row_alone, .signal = SIGABRT)
{
    judge.asked = RULE_OVERLAP;
    (void)evidence_break(&(const struct rule_evidence){.judge = &judge}, RULE_OUTSIDE, "elsewhere");
}

TEST(a_call_alone_and_calls_that_overlap_have_one_judge_of_evictions, .teardown = snap_rest)
{
    for (int overlapping = 0; overlapping < 2; overlapping++) {
        begin_judge();
        judge.is_overlapping = overlapping != 0;
        const struct rule_evidence evidence = {
            .judge = &judge, .op = 7, .slot = SLOT_NONE, .may_evict = true};
        ck_assert(!rule_judge(RULE_WRONG_EVICTION, &evidence));
        ck_assert_int_eq(said.rule, RULE_WRONG_EVICTION);
        show("%s\n", said.reason);
    }
}

/* --- another run --- */

/* What it worked with stays, what the run before it gave it does not. */
TEST(a_judge_begins_another_run_afresh)
{
    judge.run = 7;
    struct verdict verdict = {.kind = VERDICT_NONE};
    const struct oom oom = {
        .capacity_bytes = 16,
        .granule_bytes = 1,
        .request = {
            .class = REQUEST_BUFFER, .size_bytes = 17, .align_bytes = 1, .own_op = OP_NONE}};
    judge_init(&judge);
    oracle_reset(judge.oracle, 1, 0);
    oracle_judge(judge.oracle, &oom, 0, &verdict);
    ck_assert_uint_eq(verdict.nodes_max, 1);
    (void)judge_was_told(&judge, RULE_COUNTERS, "a");
    judge.goes_on = judge.hosts_differ = judge.cannot_follow = true;
    judge.oom_count = judge.absorbed_counts[0] = 3;
    const struct judge before = judge;
    judge_reset(&judge);
    oracle_judge(judge.oracle, &oom, 0, &verdict);
    ck_assert_uint_eq(verdict.nodes_max, ORACLE_NODES_DEFAULT);
    ck_assert(judge.oracle == before.oracle && judge.planner == before.planner);
    ck_assert_uint_ne(judge.run, before.run);
    ck_assert(!judge.goes_on && !judge.hosts_differ && !judge.cannot_follow);
    ck_assert_uint_eq(judge.told.count + judge.oom_count + judge.absorbed_counts[0], 0);
    judge_deinit(&judge);
}

/* --- names --- */

TEST(what_was_looked_at_names_a_finding, .teardown = snap_rest)
{
    static const struct {
        enum rule rule;
        enum evidence_sight sight;
        bool may_evict;
    } rows[] = {{RULE_OUTSIDE, SIGHT_ANSWER, false},
                {RULE_OVERLAP, SIGHT_CLASH, false},
                {RULE_MOVED_UNASKED, SIGHT_DONATION, false},
                {RULE_MOVED_UNASKED, SIGHT_IMAGE, false},
                {RULE_OVERLAP, SIGHT_STACK, false},
                {RULE_STATUS, SIGHT_ABSENT, false},
                {RULE_STATUS, SIGHT_GONE, false},
                {RULE_CONTENTS, SIGHT_COPY, false},
                {RULE_HELD_MOVED, SIGHT_MOVE, false},
                {RULE_CONTENTS, SIGHT_PLACE, false},
                {RULE_MOVED_UNASKED, SIGHT_NEIGHBOUR, false},
                {RULE_FAILED_CHANGED, SIGHT_SIZE, false},
                {RULE_OVERLAP, SIGHT_TAKEN, false},
                {RULE_MOVED_UNASKED, SIGHT_TOUCH, false},
                {RULE_MOVED_UNASKED, SIGHT_STRANDED, false},
                {RULE_MOVED_UNASKED, SIGHT_STAYS, false},
                {RULE_MOVED_UNASKED, SIGHT_RETURN, false},
                {RULE_OVERLAP, SIGHT_RETAKEN, false},
                {RULE_CONTENTS, SIGHT_LOST, false},
                {RULE_OUTSIDE, SIGHT_DEVICE, false},
                {RULE_HANG, SIGHT_LATER, false},
                {RULE_FAILED_CHANGED, SIGHT_EFFORT, false},
                {RULE_FAILED_CHANGED, SIGHT_STAGE, false},
                {RULE_FAILED_CHANGED, SIGHT_IMAGE_LEFT, false},
                {RULE_FAILED_CHANGED, SIGHT_ROW_LEFT, false},
                {RULE_HANDLE, SIGHT_REPORT, false},
                {RULE_HOST_MEMORY, SIGHT_CLOSE, false},
                {RULE_NOT_COALESCED, SIGHT_CLOSE, false},
                {RULE_SPMD, SIGHT_CLOSE, false},
                {RULE_BUSY_EVICTED, SIGHT_CLOSE, false},
                {RULE_WRONG_EVICTION, SIGHT_CLOSE, true},
                {RULE_WRONG_EVICTION, SIGHT_CLOSE, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_judge();
        judge.asked = rows[i].rule;
        const struct rule_evidence evidence = {
            .judge = &judge, .sight = rows[i].sight, .may_evict = rows[i].may_evict};
        (void)evidence_break(&evidence, rows[i].rule, "now");
        show("%s: %s\n", rule_info(rows[i].rule)->name, said.mechanism);
        begin_op();
        (void)evidence_break_as(&evidence, rows[i].rule, "by name", "now");
        ck_assert_str_eq(said.mechanism, "by name");
    }
}
