/* SARIF of campaigns; reports_review.sh reads it as programs do: members, indices of rules. */
#include "harness/oracle/rule.h"
#include "present/review.h"
#include "present/version.h"
#include "tests/helpers/snap.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <stdio.h>
#include <string.h>

static const char *print_number(unsigned number)
{
    return campaign_print(sarif_print, &campaign_get(number)->campaign);
}

TEST(the_rules_are_the_table_and_what_a_job_leaves_open)
{
    char row[512];
    snap_mask(version_text(), "VERSION");
    snap_lines(print_number(CAMPAIGN_GOOD), "\"driver\"");
    const char *at = print_number(CAMPAIGN_GOOD);
    for (int rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        const struct rule_info *info = rule_info((enum rule)rule);
        snprintf(row, sizeof row, "{\"id\":\"%s\",\"shortDescription\":{\"text\":\"%s\"}",
                 info->name, info->summary);
        at = strstr(at, row);
        ck_assert_msg(at != NULL, "no %s where it belongs", row);
    }
    char *open = strdup(strchr(at, '\n') + 1);
    *strstr(open, "}},\n\"invocations\"") = '\0';
    snap(open);
    free(open);
}

/* A finding is a result at its place with its files; a baseline state is there with a baseline
 * alone; foreign text keeps no control character, and a place is a URI. */
TEST(each_finding_is_a_result, .to = 3)
{
    static const unsigned numbers[] = {CAMPAIGN_GOOD, CAMPAIGN_HOSTILE, CAMPAIGN_REVIEWED};
    snap_json(strstr(print_number(numbers[_i]), "\"invocations\""));
    snap_lines(print_number(CAMPAIGN_FINDINGS), "baselineState");
}

TEST(a_harness_that_failed_is_no_successful_execution)
{
    struct report_campaign campaign = campaign_get(CAMPAIGN_GOOD)->campaign;
    struct report_end end = *campaign.end;
    end.exit_code = REPORT_EXIT_HARNESS;
    campaign.end = &end;
    snap_lines(campaign_print(sarif_print, &campaign), "\"invocations\"");
}

TEST(times_change_no_byte, .to = NAMED_CAMPAIGN_COUNT)
{
    struct report_campaign campaign = campaign_get((unsigned)_i)->campaign;
    struct report_end end = *campaign.end;
    char *first = strdup(campaign_print(sarif_print, &campaign));
    end.elapsed_ns += 123456789;
    campaign.end = &end;
    ck_assert_str_eq(campaign_print(sarif_print, &campaign), first);
    free(first);
}
