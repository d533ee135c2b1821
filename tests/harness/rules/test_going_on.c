/* A run that goes on after a finding that does no harm, and what is told of it in the end. */
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void start_going_on(void)
{
    start();
    run_go_on(script.run);
}

static void start_with_documented_messages(void)
{
    prepare();
    script.contract.documented_messages = true;
    start_hosts(1);
    run_go_on(script.run);
}

static size_t finding_count(void)
{
    return run_findings(script.run)->count;
}

static const char *signature_of(size_t finding)
{
    ck_assert_uint_lt(finding, finding_count());
    return run_findings(script.run)->findings[finding].signature;
}

/* What is told of the run as it is by now. */
static void settle(struct run_findings *settled)
{
    run_findings_copy(settled, run_findings(script.run));
    run_findings_settle(settled);
}

/* --- what a run goes on after --- */

TEST(behind_a_premature_refusal_an_overlap_is_found_and_leads)
{
    struct run_findings settled;
    start_going_on();
    KEEPS(alloc_at(0, 2));
    JUDGED(refuse(4), VERDICT_PREMATURE);
    ck_assert(!run_is_broken(script.run));
    BREAKS(alloc_at(1, 2), RULE_OVERLAP);
    ck_assert(run_is_broken(script.run));
    ck_assert_uint_eq(finding_count(), 2);
    settle(&settled);
    ck_assert_uint_eq(settled.count, 2);
    ck_assert_int_eq(settled.findings[0].verdict.rule, RULE_OVERLAP);
    ck_assert_str_eq(settled.findings[1].signature,
                     "premature: buffer fits at once, in a hole of twice its size or more");
    stop();
}

TEST(a_run_that_does_not_go_on_ends_at_its_first_finding)
{
    start();
    JUDGED(refuse(4), VERDICT_PREMATURE);
    ck_assert(run_is_broken(script.run));
    stop();
}

TEST(each_mechanism_is_one_finding_however_often_it_is_seen)
{
    start_going_on();
    JUDGED(refuse(4), VERDICT_PREMATURE);
    ck_assert_str_ne(run_findings(script.run)->findings[0].verdict.reason, "");
    JUDGED(refuse(3), VERDICT_PREMATURE);
    JUDGED(refuse(16), VERDICT_PREMATURE);
    ck_assert_uint_eq(finding_count(), 2);
    ck_assert_str_eq(signature_of(1),
                     "premature: buffer fits at once, in a hole under 9/8 of its size");
    ck_assert_uint_eq(run_findings(script.run)->findings[0].verdict.op, 0);
    ck_assert_uint_eq(run_findings(script.run)->findings[1].verdict.op, 2);
    ck_assert_uint_eq(run_totals(script.run)->premature, 3);
    ck_assert_uint_eq(run_totals(script.run)->ooms, 3);
    stop();
}

TEST(after_a_premature_refusal_the_model_is_that_of_a_refusal)
{
    start_going_on();
    JUDGED(refuse(4), VERDICT_PREMATURE);
    ck_assert_uint_eq(model_counters(run_model(script.run, 0))->block_count, 0);
    KEEPS(alloc_at(0, 16));
    JUDGED(refuse(1), VERDICT_JUSTIFIED);
    stop();
}

TEST(a_free_that_fails_leaves_the_block_where_it_is)
{
    start_going_on();
    KEEPS(alloc_at(0, 2));
    script.result = TARGET_FAILED;
    BREAKS(on(OP_FREE, 0), RULE_STATUS);
    ck_assert(!run_is_broken(script.run));
    ck_assert_str_eq(signature_of(0), "status: free returned FAILED");
    BREAKS(alloc_at(1, 2), RULE_OVERLAP);
    stop();
}

/* --- what ends it --- */

TEST(a_size_that_can_never_be_right_may_be_refused_in_vain_but_not_granted)
{
    start_going_on();
    BREAKS(refuse(0), RULE_STATUS);
    ck_assert_str_eq(signature_of(0), "status: alloc returned NO_MEMORY");
    ck_assert(!run_is_broken(script.run));
    ck_assert_uint_eq(run_totals(script.run)->justified, 0);
    const struct op output = op_make(OP_OUTPUT); /* the same call of the target */
    script.result = TARGET_NO_MEMORY;
    KEEPS(step(output));
    BREAKS(alloc_at(0, 0), RULE_STATUS); /* nobody knows what was taken */
    ck_assert_str_eq(signature_of(1), "status: alloc returned OK");
    ck_assert(run_is_broken(script.run));
    stop();
}

static void fail_for_ever(void)
{
    script.act = fail_for_ever;
    script.result = TARGET_FAILED;
}

TEST(a_block_that_the_target_never_frees_does_not_keep_the_end_from_coming)
{
    start_going_on();
    KEEPS(alloc_at(0, 2));
    KEEPS(alloc_at(2, 2));
    script.act = fail_for_ever;
    (void)run_finish(script.run);
    ck_assert_uint_eq(finding_count(), 1);
    /* The op is none of the list. */
    ck_assert_str_eq(signature_of(0), "status: free returned FAILED");
    ck_assert_uint_ge(run_findings(script.run)->findings[0].verdict.op, 2);
    script.act = NULL;
    stop();
}

/* --- numbers --- */

TEST(a_wrong_counter_is_told_once_and_forgotten_where_harm_comes)
{
    struct run_findings settled;
    start_going_on();
    script.stats_more.bytes_in_use = G;
    BREAKS(alloc_at(0, 2), RULE_COUNTERS);
    ck_assert_str_eq(signature_of(0), "counters: bytes_in_use");
    KEEPS(alloc_at(2, 2));
    ck_assert_uint_eq(run_totals(script.run)->broken, 1);
    settle(&settled);
    ck_assert_uint_eq(settled.count, 1);
    BREAKS(alloc_at(3, 2), RULE_OVERLAP);
    ck_assert_uint_eq(finding_count(), 2);
    settle(&settled);
    ck_assert_uint_eq(settled.count, 1);
    ck_assert_int_eq(settled.findings[0].verdict.rule, RULE_OVERLAP);
    stop();
}

TEST(a_wrong_counter_next_to_a_wrong_answer_is_a_finding_of_its_own)
{
    struct run_findings settled;
    start_going_on();
    JUDGED(refuse(4), VERDICT_PREMATURE);
    script.stats_more.bytes_in_use = G;
    BREAKS(alloc_at(0, 2), RULE_COUNTERS);
    settle(&settled);
    ck_assert_uint_eq(settled.count, 2);
    ck_assert_int_eq(settled.findings[0].verdict.kind, VERDICT_PREMATURE);
    stop();
}

TEST(what_a_graver_finding_hid_in_one_op_is_told_in_the_next)
{
    start_going_on();
    script.stats_more.bytes_in_use = G;
    JUDGED(refuse(4), VERDICT_PREMATURE);
    BREAKS(alloc_at(0, 2), RULE_COUNTERS);
    ck_assert_uint_eq(finding_count(), 2);
    stop();
}

TEST(counters_that_go_wrong_together_are_one_finding)
{
    start_going_on();
    script.stats_more.bytes_in_use = script.stats_more.num_allocs = G;
    BREAKS(alloc_at(0, 2), RULE_COUNTERS);
    KEEPS(alloc_at(2, 2));
    script.stats_more.bytes_limit = G;
    BREAKS(alloc_at(4, 2), RULE_COUNTERS);
    ck_assert_uint_eq(finding_count(), 2);
    stop();
}

TEST(an_out_of_memory_with_a_wrong_text_still_counts_by_its_verdict)
{
    start_with_documented_messages();
    BREAKS(refuse(17), RULE_MESSAGE);
    ck_assert_str_eq(signature_of(0), "message: words");
    ck_assert_uint_eq(run_totals(script.run)->justified, 1);
    ck_assert_uint_eq(run_totals(script.run)->excused, 0);
    JUDGED(refuse(17), VERDICT_JUSTIFIED);
    ck_assert_uint_eq(run_totals(script.run)->justified, 2);
    ck_assert_uint_eq(run_totals(script.run)->broken, 1);
    stop();
}

/* --- the list of findings --- */

static struct verdict break_rule(enum rule rule, uint32_t op, const char *mechanism)
{
    struct verdict verdict = {.kind = VERDICT_BROKEN, .rule = rule, .op = op};
    (void)snprintf(verdict.mechanism, sizeof verdict.mechanism, "%s", mechanism);
    (void)snprintf(verdict.reason, sizeof verdict.reason, "op %u", op);
    return verdict;
}

/* RUN_FINDING_COUNT_MAX of them: broken counters "0", "1", ... */
static void fill(struct run_findings *findings, const struct op_list *ops)
{
    findings->count = 0;
    for (uint32_t i = 0; i < RUN_FINDING_COUNT_MAX; i++) {
        char mechanism[16];
        (void)snprintf(mechanism, sizeof mechanism, "%u", i);
        const struct verdict verdict = break_rule(RULE_COUNTERS, i, mechanism);
        run_findings_add(findings, &verdict, ops, "");
    }
    ck_assert_uint_eq(findings->count, RUN_FINDING_COUNT_MAX);
}

TEST(a_full_list_takes_no_more_but_the_verdict_that_ended_the_run)
{
    static struct run_findings findings;
    struct op_list ops;
    op_list_init(&ops);
    fill(&findings, &ops);
    const struct verdict more = break_rule(RULE_REPORT, 90, "sums");
    run_findings_add(&findings, &more, &ops, "");
    ck_assert_uint_eq(findings.count, RUN_FINDING_COUNT_MAX);
    ck_assert_ptr_null(run_findings_find(&findings, "report: sums"));
    const struct verdict last = break_rule(RULE_OVERLAP, 91, "answer");
    run_findings_set(&findings, &last, &ops);
    ck_assert_uint_eq(findings.count, RUN_FINDING_COUNT_MAX);
    ck_assert_ptr_null(run_findings_find(&findings, "counters: 15"));
    ck_assert_ptr_nonnull(run_findings_find(&findings, "counters: 14"));
    ck_assert_uint_eq(run_findings_gravest(&findings)->verdict.op, 91);
    op_list_deinit(&ops);
}

TEST(harm_is_noted_however_much_was_found_before)
{
    static struct run_findings findings;
    struct op_list ops;
    op_list_init(&ops);
    fill(&findings, &ops);
    const struct verdict harm = break_rule(RULE_OVERLAP, 91, "answer");
    run_findings_add(&findings, &harm, &ops, "");
    ck_assert_uint_eq(findings.count, RUN_FINDING_COUNT_MAX);
    ck_assert_uint_eq(run_findings_gravest(&findings)->verdict.op, 91);
    ck_assert_ptr_null(run_findings_find(&findings, "counters: 15"));
    op_list_deinit(&ops);
}

TEST(the_verdict_that_ended_the_run_takes_the_place_of_its_like)
{
    static struct run_findings findings;
    struct op_list ops;
    op_list_init(&ops);
    fill(&findings, &ops);
    const struct verdict same = break_rule(RULE_COUNTERS, 90, "3");
    run_findings_add(&findings, &same, &ops, "");
    ck_assert_uint_eq(findings.findings[3].verdict.op, 3); /* the first stays */
    run_findings_set(&findings, &same, &ops);
    ck_assert_uint_eq(findings.findings[3].verdict.op, 90);
    ck_assert_str_eq(findings.findings[3].verdict.reason, "op 90");
    ck_assert_uint_eq(findings.count, RUN_FINDING_COUNT_MAX);
    op_list_deinit(&ops);
}

TEST(the_gravest_finding_moves_to_the_front_and_the_others_keep_their_order)
{
    static struct run_findings findings;
    struct op_list ops;
    op_list_init(&ops);
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
    op_list_deinit(&ops);
}

/* One in eight is looked at a second time, and one in 64 from the four related states, that of a
 * larger request among them; the first of a run are among them. */
TEST(the_first_of_every_eight_out_of_memories_has_a_second_opinion)
{
    prepare();
    start_hosts(1);
    run_go_on(script.run);
    KEEPS(alloc_at(12, 4));
    for (uint64_t i = 0; i < 65; i++) {
        JUDGED(refuse(16), VERDICT_JUSTIFIED);
        ck_assert_uint_eq(run_totals(script.run)->second_opinions, i / 8 + 1);
        ck_assert_uint_eq(run_totals(script.run)->relations_checked > 4, i == 64);
    }
    stop();
}
