/* A campaign beside the change that is reviewed. */
#include "present/review.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <stdio.h>

/* Each annotation: its gravity, place, title and message. */
static void print_all(struct writing *text, const struct report_campaign *campaign)
{
    static const char *const levels[] = {[ANNOTATION_ERROR] = "error",
                                         [ANNOTATION_WARNING] = "warning",
                                         [ANNOTATION_NOTICE] = "notice"};
    struct annotations annotations = {0};
    review_add_failures(campaign, &annotations);
    review_add_findings(campaign, &annotations);
    review_add_open(campaign, &annotations);
    for (size_t i = 0; i < annotations.count; i++) {
        const struct annotation *each = &annotations.items[i];
        writing_append_format(text, "%s %s (%s), %s:%u, %s\n%s\n\n", levels[each->level],
                              each->title, each->rule, each->file == NULL ? "-" : each->file,
                              (unsigned)each->line, each->fingerprint, each->message);
    }
    annotations_deinit(&annotations);
}

/* A new finding is an error, and a known one a notice, at its section, its trace, its repro or its
 * results; what is open is a warning.  A campaign in order has none. */
TEST(each_campaign_has_its_annotations, .to = NAMED_CAMPAIGN_COUNT)
{
    snap(campaign_print(print_all, &campaign_get((unsigned)_i)->campaign));
}

TEST(what_has_no_repro_is_at_the_results_and_keeps_its_fingerprint)
{
    struct report_campaign campaign = campaign_get(CAMPAIGN_FINDINGS)->campaign;
    campaign.directory = "out";
    snap_lines(campaign_print(print_all, &campaign), "hang in free|interrupted");
    campaign.directory = "another/folder";
    snap_lines(campaign_print(print_all, &campaign), "interrupted");
}

TEST(what_is_open_is_a_notice_where_the_job_allows_it)
{
    struct report_campaign campaign = campaign_get(CAMPAIGN_REVIEWED)->campaign;
    struct report_end end = *campaign.end;
    campaign.end = &end;
    end.allowed.unknown[OOM_PLAIN] = end.allowed.unknown[OOM_ALIGNED] = 1;
    snap_lines(campaign_print(print_all, &campaign), "unknown: storm");
}

TEST(a_campaign_that_cannot_be_believed_is_an_error)
{
    struct report_campaign campaign = campaign_get(CAMPAIGN_FINDINGS)->campaign;
    struct report_end end = *campaign.end;
    campaign.end = &end;
    end.is_interrupted = false;
    snap_lines(campaign_print(print_all, &campaign), "canary|states that|stack_grew");
    campaign = campaign_get(CAMPAIGN_GOOD)->campaign;
    end = *campaign.end;
    end.exit_code = REPORT_EXIT_HARNESS;
    campaign.end = &end;
    snap(campaign_print(print_all, &campaign));
}

TEST(nothing_is_printed_unless_it_is_asked_for)
{
    static void (*const prints[])(struct writing * text, const struct report_campaign *campaign) = {
        review_print_github, review_print_step, review_print_gitlab};
    static const enum annotation_form wanted[] = {ANNOTATION_GITHUB, ANNOTATION_GITHUB,
                                                  ANNOTATION_GITLAB};
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        for (int form = ANNOTATION_NONE; form < ANNOTATION_FORM_COUNT; form++) {
            struct report_campaign campaign = campaign_get(CAMPAIGN_REVIEWED)->campaign;
            campaign.annotation = (enum annotation_form)form;
            ck_assert_int_eq(*campaign_print(prints[i], &campaign) != '\0',
                             campaign.annotation == wanted[i]);
        }
    }
}

TEST(the_page_of_a_step_begins_with_the_closing_line)
{
    struct report_campaign campaign = campaign_get(CAMPAIGN_REVIEWED)->campaign;
    campaign.annotation = ANNOTATION_GITHUB;
    snap(campaign_print(review_print_step, &campaign));
}
