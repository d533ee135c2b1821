/* The summary of a campaign as a program reads it. */
#include "reports/json_lines.h"
#include "reports/summary.h"
#include "reports/terminal.h"
#include "tests/helpers/suite.h"
#include "tests/reports/report_campaigns.h"

#include <jansson.h>
#include <string.h>

static json_t *read_summary(unsigned number)
{
    struct writing text;
    json_error_t error;
    writing_init(&text);
    summary_print(&text, &campaign_get(number)->campaign);
    json_t *summary = json_loads(writing_string(&text), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(summary != NULL, "%s: %s", error.text, writing_string(&text));
    writing_deinit(&text);
    return summary;
}

static void expect_word(const json_t *object, const char *key, const char *wanted)
{
    const char *value = json_string_value(json_object_get(object, key));
    ck_assert_msg(value != NULL, "no %s", key);
    ck_assert_str_eq(value, wanted);
}

static void expect_number(const json_t *object, const char *key, json_int_t wanted)
{
    ck_assert_msg(json_is_integer(json_object_get(object, key)), "no %s", key);
    ck_assert_int_eq(json_integer_value(json_object_get(object, key)), wanted);
}

static void expect_seconds(const json_t *object, double wanted)
{
    ck_assert_double_eq_tol(json_real_value(json_object_get(object, "seconds")), wanted, 1e-9);
}

static void expect_boolean(const json_t *object, const char *key, bool wanted)
{
    ck_assert_msg(json_is_boolean(json_object_get(object, key)), "no %s", key);
    ck_assert(json_is_true(json_object_get(object, key)) == wanted);
}

START_TEST(it_begins_with_how_the_campaign_went)
{
    json_t *summary = read_summary(2);
    expect_word(summary, "format", "hbmstress-summary");
    expect_word(summary, "target", "hbm");
    expect_word(summary, "seed", "7");
    expect_seconds(summary, 720.0);
    expect_boolean(summary, "interrupted", true);
    static const char *const keys[] = {"version",   "exit",      "trials",  "ops",    "ooms",
                                       "justified", "premature", "unknown", "broken", "disputed"};
    static const json_int_t values[] = {2, 1, 18204, 91200000, 9900003, 9899993, 8, 2, 4, 0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        expect_number(summary, keys[i], values[i]);
    }
    ck_assert_double_eq_tol(json_real_value(json_object_get(summary, "premature_share")), 0.0,
                            1e-9);
    json_decref(summary);
}
END_TEST

/* Also in the line that ends the run, and below the tables, where one note is printed once. */
START_TEST(what_was_not_tried_is_listed_with_the_reason_and_a_way)
{
    static const char note[] = "skipped: no threads";
    const struct report_result results[] = {
        {.name = "storm", .scenario = "s"},
        {.name = "a.lanes", .scenario = "s", .note = note, .not_tried = "lanes", .how = "threads"},
        {.name = "b.lanes", .scenario = "s", .note = note, .not_tried = "b.lanes"}};
    struct report_campaign campaign = campaign_get(2)->campaign;
    campaign.results = results;
    campaign.result_count = 3;
    struct writing text;
    writing_init(&text);
    summary_print(&text, &campaign);
    static const char wanted[] =
        "\"not_tried\":[{\"what\":\"lanes\",\"why\":\"no threads\",\"how\":\"threads\"},"
        "{\"what\":\"b.lanes\",\"why\":\"no threads\"}]";
    ck_assert_ptr_nonnull(strstr(writing_string(&text), wanted));
    writing_clear(&text);
    json_line_campaign(&text, &campaign);
    ck_assert_ptr_nonnull(strstr(writing_string(&text), wanted));
    writing_clear(&text);
    terminal_results(&text, results, 3);
    ck_assert_ptr_nonnull(
        strstr(writing_string(&text),
               "\na.lanes, b.lanes: skipped: no threads; to try it: threads\nprobes: "));
    writing_deinit(&text);
}
END_TEST

START_TEST(each_job_is_listed_whether_it_ran_or_not)
{
    json_t *summary = read_summary(2);
    const json_t *jobs = json_object_get(summary, "jobs"), *storm = json_array_get(jobs, 0),
                 *late = json_array_get(jobs, 2);
    ck_assert_uint_eq(json_array_size(jobs), 4);
    expect_word(storm, "name", "storm");
    expect_word(storm, "scenario", "fragmentation_storm");
    expect_number(storm, "trials", 18000);
    expect_number(storm, "ops", 91000000);
    expect_number(storm, "ooms", 9900000);
    expect_number(storm, "justified", 9899990);
    expect_number(storm, "premature", 8);
    expect_number(storm, "unknown", 2);
    expect_number(storm, "broken", 3);
    expect_number(storm, "findings", 2);
    expect_seconds(storm, 700.0);
    expect_boolean(storm, "finished", false);
    ck_assert_ptr_null(json_object_get(storm, "note"));
    expect_boolean(late, "finished", true);
    expect_word(late, "note", "the target has no programs");
    json_decref(summary);
}
END_TEST

START_TEST(a_finding_says_where_it_was_and_how_to_see_it_again)
{
    json_t *summary = read_summary(2);
    const json_t *findings = json_object_get(summary, "findings"),
                 *first = json_array_get(findings, 0);
    ck_assert_uint_eq(json_array_size(findings), 4);
    expect_word(first, "signature", "premature: fits after drain");
    expect_word(first, "rule", "premature");
    expect_number(first, "count", 8);
    expect_number(first, "ops", 12);
    expect_word(first, "job", "storm");
    expect_number(first, "trial", 3);
    expect_word(first, "seed", "77");
    expect_word(first, "repro", "out/repros/p.ops");
    expect_word(first, "replay", "hbmstress replay out/repros/p.ops");
    expect_word(first, "certificate", "out/certificates/p.json");
    expect_word(first, "reason", "it fits at 4096");
    expect_word(first, "message", "RESOURCE_EXHAUSTED: no room");
    expect_number(first, "largest_served_bytes", 8192);
    ck_assert_ptr_null(json_object_get(first, "largest_served_at_least"));
    ck_assert_ptr_null(json_object_get(json_array_get(findings, 1), "largest_served_bytes"));
    ck_assert_ptr_null(json_object_get(json_array_get(findings, 2), "repro"));
    json_decref(summary);
}
END_TEST

START_TEST(probes_and_the_canary_are_told)
{
    json_t *summary = read_summary(2);
    const json_t *probes = json_object_get(summary, "probes"),
                 *canary = json_object_get(summary, "canary");
    ck_assert_uint_eq(json_object_size(probes), 2);
    expect_number(probes, "evicted_then_moved", 12);
    expect_number(probes, "stack_grew_while_full", 0);
    expect_word(canary, "target", "plant_overlap");
    expect_word(canary, "scenario", "fragmentation_storm");
    expect_word(canary, "breaks", "overlap");
    expect_number(canary, "trials", 5);
    expect_boolean(canary, "reported", false);
    json_decref(summary);
    summary = read_summary(1);
    expect_number(json_object_get(summary, "probe_pairs"), "hit", 3);
    expect_number(json_object_get(summary, "probe_pairs"), "possible", 10);
    expect_boolean(json_object_get(summary, "canary"), "reported", true);
    json_decref(summary);
}
END_TEST

START_TEST(an_empty_campaign_has_empty_lists)
{
    json_t *summary = read_summary(0);
    ck_assert(json_is_array(json_object_get(summary, "jobs")));
    ck_assert_uint_eq(json_array_size(json_object_get(summary, "jobs")), 0);
    ck_assert(json_is_array(json_object_get(summary, "findings")));
    ck_assert(json_is_object(json_object_get(summary, "probes")));
    ck_assert_ptr_null(json_object_get(summary, "canary"));
    ck_assert_ptr_null(json_object_get(summary, "interrupted"));
    json_decref(summary);
}
END_TEST

START_TEST(hostile_text_reads_back_harmless)
{
    json_t *summary = read_summary(3);
    const char *name = json_string_value(
        json_object_get(json_array_get(json_object_get(summary, "jobs"), 0), "name"));
    ck_assert_ptr_nonnull(name);
    ck_assert_int_eq(strncmp(name, hostile_text, strlen("a]]>b<c>&d\"e'f\033[31m\r\n\t\001\177")),
                     0);
    ck_assert_uint_eq(json_object_size(json_object_get(summary, "probes")), 1);
    json_decref(summary);
}
END_TEST

START_TEST(members_come_in_one_order_and_lists_a_line_each)
{
    struct writing text;
    writing_init(&text);
    summary_print(&text, &campaign_get(1)->campaign);
    ck_assert_str_eq(
        writing_string(&text),
        "{\"format\":\"hbmstress-summary\",\"version\":2,\n"
        "\"seed\":\"7\",\"target\":\"hbm\",\"exit\":0,\"seconds\":2.000,\n"
        "\"trials\":43,\"ops\":86000,\"ooms\":13,\"justified\":13,\"premature\":0,\"unknown\":0,\"broken\":0,"
        "\"premature_share\":0.000000,\"disputed\":0,\n"
        "\"jobs\":[\n"
        "{\"name\":\"storm\",\"scenario\":\"fragmentation_storm\",\"trials\":40,\"ops\":80000,\"ooms\":12,"
        "\"justified\":12,\"premature\":0,\"unknown\":0,\"broken\":0,\"premature_share\":0.000000,\"findings\":0,\"seconds\":2.500,"
        "\"finished\":true},\n"
        "{\"name\":\"leak\",\"scenario\":\"slow_leak\",\"trials\":3,\"ops\":6000,\"ooms\":1,"
        "\"justified\":1,\"premature\":0,\"unknown\":0,\"broken\":0,\"premature_share\":0.000000,\"findings\":0,\"seconds\":0.500,"
        "\"finished\":false}],\n"
        "\"findings\":[],\n"
        "\"probes\":{\n\"evicted_then_moved\":12},\n"
        "\"probe_pairs\":{\"hit\":3,\"possible\":10},\n"
        "\"canary\":{\"target\":\"plant_overlap\",\"scenario\":\"fragmentation_storm\",\"breaks\":\"overlap\","
        "\"trials\":5,\"reported\":true}}\n");
    writing_deinit(&text);
}
END_TEST

Suite *suite_of_reports_summary(void)
{
    Suite *suite = suite_create("reports_summary");
    TCase *tests = tcase_create("summary");
    tcase_add_test(tests, it_begins_with_how_the_campaign_went);
    tcase_add_test(tests, each_job_is_listed_whether_it_ran_or_not);
    tcase_add_test(tests, a_finding_says_where_it_was_and_how_to_see_it_again);
    tcase_add_test(tests, probes_and_the_canary_are_told);
    tcase_add_test(tests, what_was_not_tried_is_listed_with_the_reason_and_a_way);
    tcase_add_test(tests, an_empty_campaign_has_empty_lists);
    tcase_add_test(tests, hostile_text_reads_back_harmless);
    tcase_add_test(tests, members_come_in_one_order_and_lists_a_line_each);
    suite_add_tcase(suite, tests);
    return suite;
}
