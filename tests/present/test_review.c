/* A campaign beside the change that is reviewed. */
#include "present/review.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <stdio.h>
#include <string.h>

enum { EMPTY, GOOD, FINDINGS, HOSTILE, REVIEWED };

static struct writing text;
static struct annotations annotations;

static void collect(const struct report_campaign *campaign)
{
    review_add_failures(campaign, &annotations);
    review_add_findings(campaign, &annotations);
    review_add_open(campaign, &annotations);
}

static const struct annotation *find_annotation(const char *title)
{
    for (size_t i = 0; i < annotations.count; i++) {
        if (strcmp(annotations.items[i].title, title) == 0) {
            return &annotations.items[i];
        }
    }
    ck_abort_msg("no %s among %zu", title, annotations.count);
    return NULL;
}

TEST(a_new_finding_is_an_error_and_a_known_one_a_notice)
{
    collect(&campaign_get(REVIEWED)->campaign);
    const struct annotation *known = find_annotation("premature: fits after drain");
    ck_assert_int_eq(known->level, ANNOTATION_NOTICE);
    ck_assert_ptr_nonnull(strstr(known->message, "\nthe baseline knows it\n"));
    const struct annotation *crash = find_annotation("crash: SIGSEGV at f < g < h");
    ck_assert_int_eq(crash->level, ANNOTATION_ERROR);
    ck_assert_str_eq(crash->rule, "crash");
    ck_assert_str_eq(crash->message,
                     "the target died of SIGSEGV\nseen 3 times, first in trial 9 of storm (seed "
                     "18446744073709551615)\nrepeat it: hbmstress replay '/tmp/my out/k.ops'");
}

TEST(a_finding_is_at_its_section_or_its_trace_or_its_repro)
{
    collect(&campaign_get(REVIEWED)->campaign);
    const struct annotation *crash = find_annotation("crash: SIGSEGV at f < g < h");
    ck_assert_str_eq(crash->file, "./jobs/nightly.ini");
    ck_assert_uint_eq(crash->line, 12);
    const struct annotation *hang = find_annotation("hang in free");
    ck_assert_str_eq(hang->file, "traces/a leak.pickle");
    ck_assert_uint_eq(hang->line, 0);
    annotations_deinit(&annotations);
    collect(&campaign_get(FINDINGS)->campaign);
    ck_assert_str_eq(find_annotation("premature: fits after drain")->file, "out/repros/p.ops");
    ck_assert_ptr_null(find_annotation("hang in free")->file);
    annotations_deinit(&annotations);
    struct report_campaign campaign = campaign_get(FINDINGS)->campaign;
    campaign.directory = "out";
    collect(&campaign);
    ck_assert_str_eq(find_annotation("hang in free")->file, "out/results.jsonl");
    const struct annotation *interrupted = find_annotation("interrupted");
    ck_assert_str_eq(interrupted->file, "out/results.jsonl");
    char fingerprint[ANNOTATION_HASH_BYTES];
    ck_assert_int_lt(snprintf(fingerprint, sizeof fingerprint, "%s", interrupted->fingerprint),
                     ANNOTATION_HASH_BYTES);
    annotations_deinit(&annotations);
    campaign.directory = "another/folder";
    collect(&campaign);
    ck_assert_str_eq(find_annotation("interrupted")->fingerprint, fingerprint);
}

TEST(what_is_open_is_a_warning_unless_the_job_allows_it)
{
    struct report_campaign campaign = campaign_get(REVIEWED)->campaign;
    struct report_end end = *campaign.end;
    campaign.end = &end;
    collect(&campaign);
    const struct annotation *unknown = find_annotation("unknown: storm");
    ck_assert_int_eq(unknown->level, ANNOTATION_WARNING);
    ck_assert_uint_eq(unknown->line, 12);
    ck_assert_ptr_nonnull(strstr(unknown->message, "2 of 9900000 verdicts stayed unknown\n"));
    annotations_deinit(&annotations);
    end.allowed.unknown[OOM_PLAIN] = end.allowed.unknown[OOM_ALIGNED] = 1;
    collect(&campaign);
    ck_assert_int_eq(find_annotation("unknown: storm")->level, ANNOTATION_NOTICE);
}

TEST(a_campaign_that_cannot_be_believed_is_an_error)
{
    struct report_campaign campaign = campaign_get(FINDINGS)->campaign;
    struct report_end end = *campaign.end;
    campaign.end = &end;
    collect(&campaign);
    ck_assert_int_eq(find_annotation("interrupted")->level, ANNOTATION_WARNING);
    annotations_deinit(&annotations);
    end.is_interrupted = false;
    collect(&campaign);
    const struct annotation *canary = find_annotation("the canary was not reported");
    ck_assert_int_eq(canary->level, ANNOTATION_ERROR);
    ck_assert_str_eq(canary->rule, "campaign");
    ck_assert_str_eq(find_annotation("states that the job requires were never reached")->message,
                     "stack_grew_while_full");
    annotations_deinit(&annotations);
    campaign = campaign_get(GOOD)->campaign;
    collect(&campaign);
    ck_assert_uint_eq(annotations.count, 0);
    end = *campaign.end;
    end.exit_code = REPORT_EXIT_HARNESS;
    campaign.end = &end;
    collect(&campaign);
    ck_assert_uint_eq(annotations.count, 1);
    ck_assert_str_eq(find_annotation("the harness failed")->rule, "campaign");
}

TEST(nothing_is_printed_unless_it_is_asked_for)
{
    static void (*const prints[])(struct writing * text, const struct report_campaign *campaign) = {
        review_print_github, review_print_step, review_print_gitlab};
    static const enum annotation_form wanted[] = {ANNOTATION_GITHUB, ANNOTATION_GITHUB,
                                                  ANNOTATION_GITLAB};
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        for (int form = ANNOTATION_NONE; form < ANNOTATION_FORM_COUNT; form++) {
            struct report_campaign campaign = campaign_get(REVIEWED)->campaign;
            campaign.annotation = (enum annotation_form)form;
            writing_clear(&text);
            prints[i](&text, &campaign);
            ck_assert_int_eq(text.length > 0, campaign.annotation == wanted[i]);
        }
    }
}

TEST(the_page_of_a_step_begins_with_the_closing_line)
{
    struct report_campaign campaign = campaign_get(REVIEWED)->campaign;
    campaign.annotation = ANNOTATION_GITHUB;
    review_print_step(&text, &campaign);
    ck_assert_msg(strncmp(writing_string(&text),
                          "### hbmstress\n\na promise was broken: 91200000 ops, ", 50) == 0,
                  "%.200s", writing_string(&text));
    ck_assert_ptr_nonnull(strstr(writing_string(&text),
                                 "\n| notice | jobs/nightly.ini:12 | **premature: fits after "
                                 "drain**<br>it fits at 4096<br>"));
}

TEST(a_junit_case_names_the_section_of_its_job)
{
    junit_print(&text, &campaign_get(REVIEWED)->campaign);
    const char *document = writing_string(&text);
    ck_assert_ptr_nonnull(strstr(document, "<testcase classname=\"hbmstress.storm\" "
                                           "name=\"every promise is kept\" "
                                           "file=\"jobs/nightly.ini\" line=\"12\" time="));
    ck_assert_ptr_nonnull(strstr(document, "name=\"hang in free\" file=\"traces/a leak.pickle\" "
                                           "time="));
    ck_assert_ptr_nonnull(strstr(document, "<testcase classname=\"hbmstress.campaign\" "
                                           "name=\"the harness kept running\" time="));
}

static void release_all(void)
{
    writing_deinit(&text);
    annotations_deinit(&annotations);
}

EVERY_TEST(.teardown = release_all);
