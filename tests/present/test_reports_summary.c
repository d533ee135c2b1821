/* The summary of a campaign as a program reads it, and what people read at its end. */
#include "present/json_lines.h"
#include "present/terminal.h"
#include "present/version.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <jansson.h>
#include <string.h>

/* It begins with how the campaign went; each job is listed whether it ran or not, each finding with
 * where it was and how to see it again, then probes and the canary.  Lists without members are
 * empty, and foreign text reads back harmless. */
TEST(the_summary_of_each_campaign, .to = NAMED_CAMPAIGN_COUNT)
{
    json_error_t error;
    const char *text = campaign_print(summary_print, &campaign_get((unsigned)_i)->campaign);
    json_t *summary = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(summary != NULL, "%s: %s", error.text, text);
    json_decref(summary);
    snap_mask(version_text(), "VERSION");
    snap(text);
}

static void print_results(struct writing *text, const struct report_campaign *campaign)
{
    terminal_results(text, campaign->results, campaign->result_count);
}

/* Also in the line that ends the run, and below the tables, where one note is printed once. */
TEST(what_was_not_tried_is_listed_with_the_reason_and_a_way)
{
    static const char note[] = "skipped: no threads";
    const struct report_result results[] = {
        {.name = "storm", .scenario = "s"},
        {.name = "a.lanes", .scenario = "s", .note = note, .not_tried = "lanes", .how = "threads"},
        {.name = "b.lanes", .scenario = "s", .note = note, .not_tried = "b.lanes"}};
    struct report_campaign campaign = campaign_get(CAMPAIGN_FINDINGS)->campaign;
    campaign.results = results;
    campaign.result_count = 3;
    snap_lines(campaign_print(summary_print, &campaign), "not_tried");
    snap_json(strstr(campaign_print(json_line_campaign, &campaign), "\"not_tried\""));
    snap(campaign_print(print_results, &campaign)); /* nothing ran: no table */
}

/* The findings, what is broken, the commands to go on with, then the tables and the closing line.
 */
TEST(people_read_what_was_found_what_it_means_and_what_to_do_before_the_tables)
{
    struct report_campaign campaign = campaign_get(CAMPAIGN_FINDINGS)->campaign;
    campaign.directory = "my out";
    snap(campaign_print(terminal_campaign, &campaign));
}

TEST(where_nothing_new_was_found_the_tables_are_first_and_nothing_is_to_be_done)
{
    struct report_known known[2] = {campaign_get(CAMPAIGN_FINDINGS)->campaign.findings[0],
                                    campaign_get(CAMPAIGN_FINDINGS)->campaign.findings[1]};
    struct report_campaign campaign = campaign_get(CAMPAIGN_FINDINGS)->campaign;
    known[0].is_known = known[1].is_known = true;
    campaign.findings = known;
    campaign.finding_count = 2;
    campaign.directory = "out";
    snap_lines(campaign_print(terminal_campaign, &campaign),
               "scenario|finding|refusals|promise|next: ");
    struct report_end end = *campaign_get(CAMPAIGN_GOOD)->campaign.end;
    campaign = campaign_get(CAMPAIGN_GOOD)->campaign;
    campaign.directory = "out";
    campaign.end = &end;
    snap(campaign_print(terminal_campaign, &campaign));
    end.exit_code = 3; /* something stayed open */
    snap_lines(campaign_print(terminal_campaign, &campaign), "next: |explain");
}

/* A known finding has no line of what is broken; the first new one of the same rule does, and what
 * to do is of the first new one that has a repro. */
TEST(what_to_do_is_of_the_gravest_new_finding)
{
    struct report_known mixed[3] = {campaign_get(CAMPAIGN_FINDINGS)->campaign.findings[0],
                                    campaign_get(CAMPAIGN_FINDINGS)->campaign.findings[0],
                                    campaign_get(CAMPAIGN_FINDINGS)->campaign.findings[1]};
    struct report_campaign campaign = campaign_get(CAMPAIGN_FINDINGS)->campaign;
    mixed[0].is_known = true;
    mixed[1].repro = mixed[1].replay = NULL;
    campaign.findings = mixed;
    campaign.finding_count = 3;
    snap_lines(campaign_print(terminal_campaign, &campaign),
               "finding |promise broken|(premature)|(crash)|next: ");
}

TEST(tables_have_no_rows_of_zeros)
{
    const struct report_result results[] = {
        {.name = "moves", .trials = 1, .totals = {.ops = 5, .moves = 2, .moved_bytes = 1 << 20}},
        {.name = "quiet", .trials = 1, .totals = {.ops = 6}},
        {.name = "late", .is_finished = true}};
    snap(campaign_print(print_results,
                        &(struct report_campaign){.results = results, .result_count = 3}));
    snap(campaign_print(print_results,
                        &(struct report_campaign){.results = &results[1], .result_count = 1}));
}

/* "hostile" of report_campaigns: nothing of it acts on the terminal or breaks a line of its own. */
TEST(hostile_text_stays_text_for_people)
{
    struct report_campaign campaign = campaign_get(CAMPAIGN_HOSTILE)->campaign;
    struct writing start = {0};
    campaign.directory = hostile_text;
    terminal_start(&start, campaign.start);
    snap(writing_string(&start));
    writing_deinit(&start);
    snap(campaign_print(terminal_campaign, &campaign));
}
