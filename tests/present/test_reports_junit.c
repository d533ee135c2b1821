/* JUnit XML of campaigns. */
#include "present/review.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <stdio.h>
#include <string.h>

static struct writing text;

static const char *print_campaign(unsigned number)
{
    writing_clear(&text);
    junit_print(&text, &campaign_get(number)->campaign);
    return writing_string(&text);
}

static unsigned count_of(const char *string, const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(string, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

static void expect_part(const char *document, const char *part)
{
    ck_assert_msg(strstr(document, part) != NULL, "no %s in\n%.3000s", part, document);
}

TEST(elements_are_as_many_as_the_counts_say)
{
    for (unsigned i = 0; i < NAMED_CAMPAIGN_COUNT; i++) {
        const struct named_campaign *wanted = campaign_get(i);
        const char *document = print_campaign(i);
        ck_assert_uint_eq(count_of(document, "<testsuite "), wanted->suites);
        ck_assert_uint_eq(count_of(document, "<testcase "), wanted->tests);
        ck_assert_uint_eq(count_of(document, "<failure "), wanted->failures);
        ck_assert_uint_eq(count_of(document, "<error "), wanted->errors);
        ck_assert_uint_eq(count_of(document, "<skipped "), wanted->skipped);
        char head[160];
        snprintf(
            head, sizeof head,
            "<testsuites name=\"hbmstress\" tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\"",
            wanted->tests, wanted->failures, wanted->errors, wanted->skipped);
        expect_part(document, head);
    }
}

TEST(known_findings_fail_no_test_unless_there_is_another)
{
    enum { FINDING_COUNT = 4 };
    struct report_campaign campaign = campaign_get(2)->campaign;
    struct report_known findings[FINDING_COUNT];
    ck_assert_uint_eq(campaign.finding_count, FINDING_COUNT);
    memcpy(findings, campaign.findings, sizeof findings);
    campaign.findings = findings;
    for (size_t i = 0; i < FINDING_COUNT; i++) {
        findings[i].is_known = true;
    }
    writing_clear(&text);
    junit_print(&text, &campaign);
    ck_assert_uint_eq(count_of(writing_string(&text), "type=\"broken\""), 0);
    ck_assert_uint_eq(count_of(writing_string(&text), "type=\"premature\""), 0);
    ck_assert_uint_eq(count_of(writing_string(&text), "type=\"hang\""), 0);
    ck_assert_uint_eq(count_of(writing_string(&text), "type=\"unknown\""), 1);
    findings[2].is_known = false;
    writing_clear(&text);
    junit_print(&text, &campaign);
    ck_assert_uint_eq(count_of(writing_string(&text), "type=\"broken\""), 2);
    ck_assert_uint_eq(count_of(writing_string(&text), "type=\"premature\""), 0);
    ck_assert_uint_eq(count_of(writing_string(&text), "type=\"hang\""), 1);
}

TEST(a_job_says_what_it_ran_on)
{
    const char *document = print_campaign(2);
    expect_part(
        document,
        "<testsuite name=\"storm\" tests=\"4\" failures=\"4\" errors=\"0\" skipped=\"0\" time=\"700.000\">");
    expect_part(document, "<property name=\"target\" value=\"first_fit\"/>");
    expect_part(document, "<property name=\"seed\" value=\"8\"/>");
    expect_part(document, "<property name=\"capacity\" value=\"64M\"/>");
    expect_part(document, "<property name=\"capacity\" value=\"drawn by each trial\"/>");
    expect_part(document, "<property name=\"scenario\" value=\"fragmentation_storm\"/>");
    ck_assert_ptr_null(strstr(document, "hostname"));
    ck_assert_ptr_null(strstr(document, "timestamp"));
}

TEST(a_finding_is_a_failed_case_of_its_job)
{
    const char *document = print_campaign(2);
    expect_part(
        document,
        "    <testcase classname=\"hbmstress.storm\" name=\"premature: fits after drain\" time=\"0.000\">\n"
        "      <failure type=\"premature\" message=\"it fits at 4096\">\n"
        "message: RESOURCE_EXHAUSTED: no room\n"
        "largest request: 8.0K (8192 bytes) would have been served\ncount: 8\njob: storm\ntrial: 3\nseed: 77\n"
        "repro: out/repros/p.ops\nops: 12\ncertificate: out/certificates/p.json\n"
        "replay: hbmstress replay out/repros/p.ops\n</failure>\n");
    expect_part(document,
                "classname=\"hbmstress.storm\" name=\"crash: SIGSEGV at f &lt; g &lt; h\"");
    expect_part(document, "classname=\"hbmstress.leak\" name=\"hang in free\"");
    expect_part(document,
                "classname=\"hbmstress.campaign\" name=\"overlap: answer in a job of before\"");
    expect_part(
        document,
        "<failure type=\"hang\" message=\"it never returned\">\ncount: 1\njob: leak\ntrial: 1\nseed: 79\n</failure>");
}

TEST(how_a_finding_shows_again_is_in_its_case)
{
    static const char *const after[] = {"out/repros/c.before-1.ops", "out/repros/c.before-2.ops"};
    struct report_campaign campaign = campaign_get(2)->campaign;
    struct report_known findings[4];
    struct report_result results[8];
    ck_assert_uint_eq(campaign.finding_count, 4);
    ck_assert_uint_le(campaign.result_count, 8);
    memcpy(findings, campaign.findings, sizeof findings);
    memcpy(results, campaign.results, campaign.result_count * sizeof *results);
    findings[0].repeats = (struct report_repeats){.after = after, .after_count = 2};
    findings[1].repeats = (struct report_repeats){.is_unrepeated = true};
    results[0].totals.unrepeated = 5;
    campaign.findings = findings;
    campaign.results = results;
    writing_clear(&text);
    junit_print(&text, &campaign);
    const char *document = writing_string(&text);
    expect_part(document, "certificate: out/certificates/p.json\n"
                          "after: out/repros/c.before-1.ops\nafter: out/repros/c.before-2.ops\n"
                          "replay: hbmstress replay out/repros/p.ops\n</failure>\n");
    expect_part(document, "replay: hbmstress replay out/repros/c.ops\n"
                          "unrepeated: the list did not show it again\n</failure>\n");
    ck_assert_uint_eq(count_of(document, "unrepeated: "), 1);
    expect_part(document, "; 5 verdicts could not be repeated\"/>");
}

TEST(what_did_not_hold_is_not_a_passed_case)
{
    const char *document = print_campaign(2);
    expect_part(
        document,
        "name=\"every promise is kept\" time=\"700.000\">\n      <failure type=\"broken\" "
        "message=\"3 broken promises and 8 premature out-of-memories in 18000 trials; of the "
        "out-of-memories, 8 of 9899998 judged were premature (less than 0.01 %)\"/>");
    expect_part(document,
                "<failure type=\"unknown\" message=\"2 of 9900000 verdicts stayed unknown\"/>");
    expect_part(
        document,
        "classname=\"hbmstress.leak\" name=\"every out-of-memory is judged\" time=\"0.000\"/>");
    expect_part(document, "<skipped message=\"the target has no programs\"/>");
    expect_part(document, "<skipped message=\"no trial ran\"/>");
    expect_part(
        document,
        "name=\"the planted defect of plant_overlap is reported\" time=\"0.000\">\n      <failure type=\"canary\"");
    expect_part(document, "name=\"probe evicted_then_moved is hit\" time=\"0.000\"/>");
    expect_part(
        document,
        "name=\"probe stack_grew_while_full is hit\" time=\"0.000\">\n      <failure type=\"probe\"");
    expect_part(document, "name=\"the harness kept running\" time=\"0.000\"/>");
    document = print_campaign(3);
    expect_part(
        document,
        "<error type=\"disputed\" message=\"internal error: the two judges disagree on 1 of 2 verdicts\"/>");
    expect_part(document,
                "name=\"the harness kept running\" time=\"0.000\">\n      <error type=\"harness\"");
}

TEST(a_campaign_without_findings_passes)
{
    const char *document = print_campaign(1);
    expect_part(document, "name=\"every promise is kept\" time=\"2.500\"/>");
    expect_part(document,
                "name=\"the planted defect of plant_overlap is reported\" time=\"0.000\"/>");
    document = print_campaign(0);
    expect_part(document, "<skipped message=\"no planted target ran\"/>");
    expect_part(document, "<skipped message=\"the campaign has no probes\"/>");
}

TEST(one_broken_promise_of_any_kind_fails_its_job)
{
    const struct setup setup = {.target = "hbm", .host_count = 1};
    const struct report_part part = {"job", "slow_leak", &setup, 1, "", {0}, 0, NULL, NULL, 0};
    const struct report_start start = {
        .subcommand = "campaign", .setup = &setup, .parts = &part, .part_count = 1};
    const struct report_end end = {.exit_code = 1};
    const struct report_result results[] = {
        {.totals = {.broken = 1}}, {.totals = {.premature = 1}}, {.finding_count = 1}};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        struct report_result result = results[i];
        result.name = result.scenario = "job";
        result.trials = 1;
        writing_clear(&text);
        junit_print(&text,
                    &(struct report_campaign){
                        .start = &start, .results = &result, .result_count = 1, .end = &end});
        expect_part(
            writing_string(&text),
            "name=\"every promise is kept\" time=\"0.000\">\n      <failure type=\"broken\"");
    }
}

TEST(a_case_does_not_pass_where_something_was_not_judged)
{
    const struct setup setup = {.target = "hbm", .host_count = 1};
    const struct report_part part = {"job", "slow_leak", &setup, 1, "", {0}, 0, NULL, NULL, 0};
    const struct report_start start = {
        .subcommand = "campaign", .setup = &setup, .parts = &part, .part_count = 1};
    struct report_result result = {
        .name = "job", .scenario = "job", .trials = 1, .totals = {.ooms = 9, .excused = 2}};
    struct report_end end = {.totals = result.totals};
    const struct report_campaign campaign = {
        .start = &start, .results = &result, .result_count = 1, .end = &end};
    writing_clear(&text);
    junit_print(&text, &campaign);
    expect_part(writing_string(&text), "<skipped message=\"2 answers were not judged\"/>");

    result.totals.unknown = result.totals.unknown_by_class[OOM_HELD] = 3;
    end = (struct report_end){.totals = result.totals, .allowed = {.unknown = {0, 0, 3}}};
    writing_clear(&text);
    junit_print(&text, &campaign);
    expect_part(writing_string(&text),
                "<skipped message=\"2 answers were not judged; 3 verdicts stayed unknown, which is "
                "allowed\"/>");

    end.allowed.unknown[OOM_HELD] = 2;
    writing_clear(&text);
    junit_print(&text, &campaign);
    expect_part(writing_string(&text),
                "<failure type=\"unknown\" message=\"3 of 9 verdicts stayed unknown\"/>");
}

TEST(foreign_text_stays_text)
{
    writing_clear(&text);
    writing_append_xml(&text, hostile_text);
    ck_assert_str_eq(
        writing_string(&text),
        "a]]&gt;b&lt;c&gt;&amp;d&quot;e'f\\x1b[31m\\x0d\\x0a\\x09\\x01\\x7f|\\xc2\\x9b|\\xe2\\x80\\xae|\\xff\\xc3|"
        "\\xed\\xa0\\x80|\\xef\\xbf\\xbe|\\xef\\xbf\\xbf|\xc3\xa9|\xe4\xb8\xad|&lt;/testsuite&gt;&lt;!--|"
        "&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;|::error::x%0A");
    const char *document = print_campaign(3);
    for (const char *at = document; *at != '\0'; at++) {
        ck_assert_msg((unsigned char)*at >= 0x20 || *at == '\n', "byte %02x", (unsigned char)*at);
    }
    ck_assert_ptr_null(strstr(document, "]]>"));
    ck_assert_ptr_null(strstr(document, "<c>"));
}

TEST(the_same_campaign_gives_the_same_bytes)
{
    for (unsigned i = 0; i < NAMED_CAMPAIGN_COUNT; i++) {
        struct writing again;
        writing_init(&again);
        junit_print(&again, &campaign_get(i)->campaign);
        ck_assert_str_eq(writing_string(&again), print_campaign(i));
        writing_deinit(&again);
    }
}

static void release_text(void)
{
    writing_deinit(&text);
}

EVERY_TEST(.teardown = release_text);
