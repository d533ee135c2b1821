/* The summary of a campaign as a program reads it. */
#include "present/json_lines.h"
#include "present/terminal.h"
#include "present/version.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

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

TEST(it_begins_with_how_the_campaign_went)
{
    json_t *summary = read_summary(2);
    expect_word(summary, "format", "hbmstress-summary");
    expect_word(summary, "target", "hbm");
    expect_word(summary, "seed", "7");
    expect_seconds(summary, 720.0);
    expect_boolean(summary, "interrupted", true);
    static const char *const keys[] = {"version",   "exit",      "trials",  "ops",    "ooms",
                                       "justified", "premature", "unknown", "broken", "disputed"};
    static const json_int_t values[] = {1, 1, 18204, 91200000, 9900003, 9899993, 8, 2, 4, 0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        expect_number(summary, keys[i], values[i]);
    }
    ck_assert_double_eq_tol(json_real_value(json_object_get(summary, "premature_share")), 0.0,
                            1e-9);
    json_decref(summary);
}

/* Also in the line that ends the run, and below the tables, where one note is printed once. */
TEST(what_was_not_tried_is_listed_with_the_reason_and_a_way)
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
    ck_assert_ptr_null(strstr(writing_string(&text), "scenario")); /* nothing ran: no table */
    writing_deinit(&text);
}

/* Where part comes after from; NULL fails. */
static const char *find_after(const char *from, const char *part)
{
    const char *at = strstr(from, part);
    ck_assert_msg(at != NULL, "no '%s' in\n%s", part, from);
    return at + strlen(part);
}

TEST(people_read_what_was_found_what_it_means_and_what_to_do_before_the_tables)
{
    struct report_campaign campaign = campaign_get(2)->campaign;
    struct writing text;
    campaign.directory = "my out";
    writing_init(&text);
    terminal_campaign(&text, &campaign);
    const char *at = writing_string(&text);
    ck_assert_int_eq(strncmp(at, "\nfinding 1: premature: ", 23), 0);
    at = find_after(at, "\nfinding 4: overlap: ");
    at = find_after(at, "\npromise broken: the target reports out-of-memory only when nothing fits "
                        "after\n  every mitigation (premature)\n");
    at = find_after(at, "promise broken: no call ends the process (crash)\n");
    at = find_after(at, "(hang)\n");
    at = find_after(at, "(overlap)\nstorm: refusals: 8 of ");
    at = find_after(at, "\nrefusals: 8 of ");
    at = find_after(at,
                    "\nnext: hbmstress replay out/repros/p.ops  # finding 1 again\n"
                    "next: hbmstress explain out/repros/p.ops  # why\n"
                    "next: hbmstress report 'my out'  # all of it on one page, report.html\n\n");
    at = find_after(at, "\nscenario\n");
    at = find_after(at, "\nall  ");
    at = find_after(at, "\nlate: the target has no programs\n");
    at = find_after(at, "\ncanary: plant_overlap in fragmentation_storm was NOT reported after 5 ");
    at = find_after(at, "\ninterrupted; so far a promise was broken: 91200000 ops, ");
    ck_assert_str_eq(find_after(at, "; seed 7"), "\n");
    writing_deinit(&text);
}

TEST(where_nothing_new_was_found_the_tables_are_first_and_nothing_is_to_be_done)
{
    struct report_known known[2] = {campaign_get(2)->campaign.findings[0],
                                    campaign_get(2)->campaign.findings[1]};
    struct report_campaign campaign = campaign_get(2)->campaign;
    struct writing text;
    known[0].is_known = known[1].is_known = true;
    campaign.findings = known;
    campaign.finding_count = 2;
    campaign.directory = "out";
    writing_init(&text);
    terminal_campaign(&text, &campaign);
    const char *at = find_after(writing_string(&text), "\nscenario\n");
    at = find_after(at, "\nknown finding 1: premature: ");
    (void)find_after(at, "\nrefusals: 8 of ");
    ck_assert_ptr_null(strstr(writing_string(&text), "promise broken: "));
    ck_assert_ptr_null(strstr(writing_string(&text), "next: "));
    writing_clear(&text);
    struct report_end end = *campaign_get(1)->campaign.end;
    campaign = campaign_get(1)->campaign;
    campaign.directory = "out";
    campaign.end = &end;
    terminal_campaign(&text, &campaign);
    ck_assert_int_eq(strncmp(writing_string(&text), "\n  ", 3), 0); /* titles in two lines */
    (void)find_after(writing_string(&text), " skipped\nscenario ");
    ck_assert_ptr_null(strstr(writing_string(&text), "next: "));
    writing_clear(&text);
    end.exit_code = 3; /* something stayed open */
    terminal_campaign(&text, &campaign);
    (void)find_after(writing_string(&text),
                     "\nnext: hbmstress report out  # all of it on one page, report.html\n");
    ck_assert_ptr_null(strstr(writing_string(&text), "explain"));
    writing_deinit(&text);
}

/* A known finding has no line of what is broken; the first new one of the same rule does, and what
 * to do is of the first new one that has a repro. */
TEST(what_to_do_is_of_the_gravest_new_finding)
{
    struct report_known mixed[3] = {campaign_get(2)->campaign.findings[0],
                                    campaign_get(2)->campaign.findings[0],
                                    campaign_get(2)->campaign.findings[1]};
    struct report_campaign campaign = campaign_get(2)->campaign;
    struct writing text;
    mixed[0].is_known = true;
    mixed[1].repro = mixed[1].replay = NULL;
    campaign.findings = mixed;
    campaign.finding_count = 3;
    writing_init(&text);
    terminal_campaign(&text, &campaign);
    const char *at = find_after(writing_string(&text), "(premature)\n");
    ck_assert_ptr_null(strstr(at, "(premature)\n"));
    at = find_after(at, "\nnext: hbmstress replay out/repros/c.ops  # finding 3 again\n\n");
    ck_assert_ptr_null(strstr(at, "next: ")); /* a crash explains nothing; no directory is known */
    writing_deinit(&text);
}

TEST(tables_have_no_rows_of_zeros)
{
    const struct report_result results[] = {
        {.name = "moves", .trials = 1, .totals = {.ops = 5, .moves = 2, .moved_bytes = 1 << 20}},
        {.name = "quiet", .trials = 1, .totals = {.ops = 6}},
        {.name = "late", .is_finished = true}};
    struct writing text;
    writing_init(&text);
    terminal_results(&text, results, 3);
    const char *at = find_after(writing_string(&text), "\nmoves  ");
    at = find_after(at, "\nquiet  ");
    at = find_after(at, "\nall  ");
    at = find_after(at, "\n\nmitigations  drains  moves  moved  stagings  evictions\n"
                        "moves             0      2  1.00M         0          0\n\n"
                        "probes: 0 of ");
    ck_assert_ptr_null(strstr(writing_string(&text), "late"));
    ck_assert_ptr_null(strstr(at, "never hit"));
    writing_clear(&text);
    terminal_results(&text, &results[1], 1);
    ck_assert_ptr_null(strstr(writing_string(&text), "mitigations"));
    ck_assert_ptr_null(strstr(writing_string(&text), "\nall "));
    writing_deinit(&text);
}

/* "hostile" of report_campaigns: nothing of it acts on the terminal or breaks a line of its own. */
TEST(hostile_text_stays_text_for_people)
{
    struct report_campaign campaign = campaign_get(3)->campaign;
    struct writing text;
    campaign.directory = hostile_text;
    writing_init(&text);
    terminal_start(&text, campaign.start);
    terminal_campaign(&text, &campaign);
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char byte = (unsigned char)text.bytes[i];
        ck_assert_msg((byte >= 0x20 || byte == '\n') && byte != 0x7f, "byte %02x", byte);
    }
    (void)find_after(writing_string(&text), "finding 1: a]]>b<c>&d\"e'f\\x1b[31m\\x0d\\x0a");
    (void)find_after(writing_string(&text), "next: hbmstress report ");
    writing_deinit(&text);
}

TEST(each_job_is_listed_whether_it_ran_or_not)
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

TEST(a_finding_says_where_it_was_and_how_to_see_it_again)
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

TEST(probes_and_the_canary_are_told)
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
    expect_boolean(json_object_get(summary, "canary"), "reported", true);
    json_decref(summary);
}

TEST(an_empty_campaign_has_empty_lists)
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

TEST(hostile_text_reads_back_harmless)
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

TEST(members_come_in_one_order_and_lists_a_line_each)
{
    struct writing text, wanted;
    writing_init(&text);
    writing_init(&wanted);
    summary_print(&text, &campaign_get(1)->campaign);
    writing_append(&wanted, "{\"format\":\"hbmstress-summary\",\"version\":1,");
    writing_append_format(&wanted, "\"hbmstress\":\"%s\",\n", version_text());
    writing_append(
        &wanted,
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
        "\"canary\":{\"target\":\"plant_overlap\",\"scenario\":\"fragmentation_storm\",\"breaks\":\"overlap\","
        "\"trials\":5,\"reported\":true}}\n");
    ck_assert_str_eq(writing_string(&text), writing_string(&wanted));
    writing_deinit(&text);
    writing_deinit(&wanted);
}
