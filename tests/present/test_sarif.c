/* SARIF of campaigns, as a program reads it; reports_review.sh asks other readers. */
#include "harness/oracle/rule.h"
#include "present/review.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <jansson.h>
#include <string.h>

enum { EMPTY, GOOD, FINDINGS, HOSTILE, REVIEWED };

static struct writing text;

/* The one run of the document. */
static json_t *read_run(const struct report_campaign *campaign)
{
    json_error_t error;
    writing_clear(&text);
    sarif_print(&text, campaign);
    json_t *document = json_loads(writing_string(&text), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(document != NULL, "%s: %s", error.text, writing_string(&text));
    ck_assert_str_eq(json_string_value(json_object_get(document, "version")), "2.1.0");
    ck_assert_uint_eq(json_array_size(json_object_get(document, "runs")), 1);
    json_t *run = json_incref(json_array_get(json_object_get(document, "runs"), 0));
    json_decref(document);
    return run;
}

/* "a.0.b": members and elements. */
static const json_t *find_path(const json_t *value, const char *path)
{
    char copy[128];
    strcpy(copy, path);
    for (char *step = strtok(copy, "."); step != NULL; step = strtok(NULL, ".")) {
        value = json_is_array(value) ? json_array_get(value, strtoul(step, NULL, 10))
                                     : json_object_get(value, step);
        ck_assert_msg(value != NULL, "no %s in %s", step, path);
    }
    return value;
}

static void expect_word(const json_t *value, const char *path, const char *wanted)
{
    ck_assert_str_eq(json_string_value(find_path(value, path)), wanted);
}

static void expect_number(const json_t *value, const char *path, json_int_t wanted)
{
    ck_assert_int_eq(json_integer_value(find_path(value, path)), wanted);
}

TEST(the_rules_are_the_table_and_what_a_job_leaves_open)
{
    json_t *run = read_run(&campaign_get(GOOD)->campaign);
    const json_t *rules = find_path(run, "tool.driver.rules");
    expect_word(run, "tool.driver.name", "hbmstress");
    ck_assert_uint_eq(json_array_size(rules), RULE_COUNT - 1 + REVIEW_OPEN_COUNT);
    for (int rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        const json_t *row = json_array_get(rules, (size_t)rule - 1);
        expect_word(row, "id", rule_info((enum rule)rule)->name);
        expect_word(row, "shortDescription.text", rule_info((enum rule)rule)->summary);
    }
    ck_assert_uint_eq(json_array_size(find_path(run, "results")), 0);
    json_decref(run);
}

TEST(a_finding_is_a_result_at_its_place_with_its_files)
{
    json_t *run = read_run(&campaign_get(REVIEWED)->campaign);
    const json_t *crash = find_path(run, "results.1");
    expect_word(crash, "ruleId", "crash");
    expect_word(crash, "level", "error");
    expect_word(crash, "baselineState", "new");
    expect_word(crash, "locations.0.physicalLocation.artifactLocation.uri", "jobs/nightly.ini");
    expect_number(crash, "locations.0.physicalLocation.region.startLine", 12);
    expect_word(crash, "relatedLocations.0.physicalLocation.artifactLocation.uri",
                "out/repros/k.before-1.ops");
    expect_word(crash, "relatedLocations.1.physicalLocation.artifactLocation.uri",
                "file:///tmp/my%20out/k.ops");
    expect_word(crash, "attachments.1.artifactLocation.uri", "out/certificates/k.json");
    expect_number(crash, "occurrenceCount", 3);
    expect_word(crash, "properties.seed", "18446744073709551615");
    expect_word(crash, "properties.replay", "hbmstress replay '/tmp/my out/k.ops'");
    const json_t *hang = find_path(run, "results.2");
    expect_word(hang, "locations.0.physicalLocation.artifactLocation.uri",
                "traces/a%20leak.pickle");
    ck_assert_ptr_null(json_object_get(find_path(hang, "locations.0.physicalLocation"), "region"));
    ck_assert_ptr_null(json_object_get(hang, "attachments"));
    json_decref(run);
}

TEST(a_rule_is_where_its_index_says)
{
    for (unsigned i = 0; i < NAMED_CAMPAIGN_COUNT; i++) {
        json_t *run = read_run(&campaign_get(i)->campaign);
        const json_t *rules = find_path(run, "tool.driver.rules");
        const json_t *results = find_path(run, "results");
        for (size_t at = 0; at < json_array_size(results); at++) {
            const json_t *result = json_array_get(results, at);
            const json_t *number = json_object_get(result, "ruleIndex");
            const char *id = json_string_value(json_object_get(result, "ruleId"));
            if (number != NULL) {
                expect_word(json_array_get(rules, (size_t)json_integer_value(number)), "id", id);
            } else {
                ck_assert_int_eq(rule_find(id), RULE_NONE);
            }
        }
        json_decref(run);
    }
}

TEST(a_baseline_state_is_there_with_a_baseline_alone)
{
    json_t *run = read_run(&campaign_get(REVIEWED)->campaign);
    ck_assert_uint_eq(json_array_size(find_path(run, "results")), 4);
    expect_word(run, "results.0.baselineState", "unchanged");
    expect_word(run, "results.0.level", "note");
    expect_word(run, "results.2.baselineState", "new");
    expect_word(run, "results.3.ruleId", "unknown");
    expect_word(run, "results.3.level", "warning");
    json_decref(run);
    run = read_run(&campaign_get(FINDINGS)->campaign);
    ck_assert_uint_eq(json_array_size(find_path(run, "results")), 5);
    ck_assert_ptr_null(strstr(writing_string(&text), "baselineState"));
    json_decref(run);
}

TEST(a_fingerprint_is_that_of_the_signature)
{
    json_t *one = read_run(&campaign_get(REVIEWED)->campaign);
    json_t *other = read_run(&campaign_get(FINDINGS)->campaign);
    static const char path[] = "results.0.partialFingerprints.signature/v1";
    expect_word(one, path, json_string_value(find_path(other, path)));
    ck_assert_str_ne(
        json_string_value(find_path(one, path)),
        json_string_value(find_path(one, "results.1.partialFingerprints.signature/v1")));
    expect_word(one, "results.0.partialFingerprints.primaryLocationLineHash",
                json_string_value(find_path(one, path)));
    json_decref(one);
    json_decref(other);
}

TEST(a_harness_that_failed_is_no_successful_execution)
{
    struct report_campaign campaign = campaign_get(GOOD)->campaign;
    struct report_end end = *campaign.end;
    json_t *run = read_run(&campaign);
    ck_assert(json_is_true(find_path(run, "invocations.0.executionSuccessful")));
    ck_assert_uint_eq(json_array_size(find_path(run, "invocations.0.toolExecutionNotifications")),
                      0);
    json_decref(run);
    end.exit_code = REPORT_EXIT_HARNESS;
    campaign.end = &end;
    run = read_run(&campaign);
    ck_assert(json_is_false(find_path(run, "invocations.0.executionSuccessful")));
    expect_number(run, "invocations.0.exitCode", 4);
    expect_word(run, "invocations.0.toolExecutionNotifications.0.level", "error");
    json_decref(run);
}

TEST(foreign_text_keeps_no_control_character)
{
    json_t *run = read_run(&campaign_get(HOSTILE)->campaign);
    ck_assert_ptr_null(strstr(writing_string(&text), "\\u00"));
    ck_assert_ptr_null(strstr(writing_string(&text), "\xe2\x80\xae"));
    for (const char *at = writing_string(&text); *at != '\0'; at++) {
        ck_assert((unsigned char)*at >= 0x20 || *at == '\n');
    }
    ck_assert_ptr_nonnull(strstr(json_string_value(find_path(run, "results.0.message.text")),
                                 "<script>alert(1)</script>\"'&"));
    const char *uri = json_string_value(
        find_path(run, "results.0.locations.0.physicalLocation.artifactLocation.uri"));
    ck_assert_ptr_nonnull(strstr(uri, "a%5D%5D%3Eb%3Cc%3E%26d%22e%27f%1B%5B31m%0D%0A%09"));
    ck_assert_ptr_null(strpbrk(uri, "<>\"' \\{}|^`"));
    json_decref(run);
}

TEST(times_change_no_byte)
{
    for (unsigned i = 0; i < NAMED_CAMPAIGN_COUNT; i++) {
        struct report_campaign campaign = campaign_get(i)->campaign;
        struct report_end end = *campaign.end;
        struct writing again;
        json_decref(read_run(&campaign));
        end.elapsed_ns += 123456789;
        campaign.end = &end;
        writing_init(&again);
        sarif_print(&again, &campaign);
        ck_assert_str_eq(writing_string(&again), writing_string(&text));
        writing_deinit(&again);
    }
}

static void release_text(void)
{
    writing_deinit(&text);
}

EVERY_TEST(.teardown = release_text);
