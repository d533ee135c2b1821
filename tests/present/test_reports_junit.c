/* JUnit XML of campaigns; reports_junit.sh holds it against its schema and the counts of its cases.
 */
#include "present/review.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <string.h>

/* A job says what it ran on, and neither host nor time.  A finding is a failed case of its job;
 * what did not hold, what did not run and what was not judged is no passed case.  Foreign text
 * stays text. */
TEST(each_campaign_has_its_suites_cases_and_failures, .to = NAMED_CAMPAIGN_COUNT)
{
    snap(campaign_print(junit_print, &campaign_get((unsigned)_i)->campaign));
}

/* Copies that a test may change; campaign has them then. */
static struct report_known findings[4];
static struct report_result results[4];
static struct report_campaign copy_findings(void)
{
    struct report_campaign campaign = campaign_get(CAMPAIGN_FINDINGS)->campaign;
    memcpy(findings, campaign.findings, sizeof findings);
    memcpy(results, campaign.results, sizeof results);
    campaign.findings = findings;
    campaign.results = results;
    return campaign;
}

TEST(known_findings_fail_no_test_unless_there_is_another)
{
    const struct report_campaign campaign = copy_findings();
    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
        findings[i].is_known = true;
    }
    snap_lines(campaign_print(junit_print, &campaign), "<failure ");
    findings[2].is_known = false;
    snap_lines(campaign_print(junit_print, &campaign), "<failure ");
}

TEST(how_a_finding_shows_again_is_in_its_case)
{
    static const char *const after[] = {"out/repros/c.before-1.ops", "out/repros/c.before-2.ops"};
    const struct report_campaign campaign = copy_findings();
    findings[0].repeats = (struct report_repeats){.after = after, .after_count = 2};
    findings[1].repeats = (struct report_repeats){.is_unrepeated = true};
    results[0].totals.unrepeated = 5;
    snap_lines(campaign_print(junit_print, &campaign),
               "certificate: |after: |replay: |unrepeated|repeated|</failure>");
}

/* A campaign of one job. */
static const struct setup setup = {.target = "hbm", .host_count = 1};
static const struct report_part part = {"job", "slow_leak", &setup, 1, "", {0}, 0, NULL, NULL, 0};
static const struct report_start start = {
    .subcommand = "campaign", .setup = &setup, .parts = &part, .part_count = 1};

TEST(one_broken_promise_of_any_kind_fails_its_job, .to = 3)
{
    const struct report_result kinds[] = {
        {.totals = {.broken = 1}}, {.totals = {.premature = 1}}, {.finding_count = 1}};
    struct report_result result = kinds[_i];
    result.name = result.scenario = "job";
    result.trials = 1;
    snap_lines(
        campaign_print(junit_print,
                       &(struct report_campaign){.start = &start,
                                                 .results = &result,
                                                 .result_count = 1,
                                                 .end = &(struct report_end){.exit_code = 1}}),
        "every promise|type=");
}

TEST(a_case_does_not_pass_where_something_was_not_judged)
{
    struct report_result result = {
        .name = "job", .scenario = "job", .trials = 1, .totals = {.ooms = 9, .excused = 2}};
    struct report_end end = {.totals = result.totals};
    const struct report_campaign campaign = {
        .start = &start, .results = &result, .result_count = 1, .end = &end};
    snap_lines(campaign_print(junit_print, &campaign), "judged|<failure");
    result.totals.unknown = result.totals.unknown_by_class[OOM_HELD] = 3;
    end = (struct report_end){.totals = result.totals, .allowed = {.unknown = {0, 0, 3}}};
    snap_lines(campaign_print(junit_print, &campaign), "judged|<failure");
    end.allowed.unknown[OOM_HELD] = 2;
    snap_lines(campaign_print(junit_print, &campaign), "judged|<failure");
}
