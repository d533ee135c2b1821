/* Annotations as GitHub and GitLab read them. */
#include "present/annotation.h"
#include "tests/helpers/suite.h"
#include "tests/present/report_campaigns.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static struct writing text;
static struct annotations annotations;

static void add_plain(enum annotation_level level, const char *title)
{
    annotations_add(&annotations, &(struct annotation){.level = level,
                                                       .file = "a.ini",
                                                       .line = 3,
                                                       .title = title,
                                                       .message = "words",
                                                       .rule = "premature"});
}

static unsigned count_of(const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(writing_string(&text), part); at != NULL;
         at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

TEST(a_command_escapes_what_its_places_give_a_meaning)
{
    annotations_add(&annotations, &(struct annotation){.level = ANNOTATION_ERROR,
                                                       .file = "./a,b:c%.ini",
                                                       .line = 12,
                                                       .title = "one: two, 3%\nfour",
                                                       .message = "100%: a, b\nc\rd::e",
                                                       .rule = "premature"});
    annotations_add(&annotations, &(struct annotation){.level = ANNOTATION_WARNING,
                                                       .line = 12,
                                                       .title = "t",
                                                       .message = "m",
                                                       .rule = "unknown"});
    annotations_add(&annotations, &(struct annotation){.level = ANNOTATION_NOTICE,
                                                       .file = "/a",
                                                       .title = "t",
                                                       .message = "",
                                                       .rule = "unknown"});
    annotations_print_github(&text, &annotations);
    ck_assert_str_eq(writing_string(&text),
                     "::error file=a%2Cb%3Ac%25.ini,line=12,title=one%3A two%2C 3%25%0Afour::"
                     "100%25: a, b%0Ac\\x0dd::e\n"
                     "::warning title=t::m\n"
                     "::notice file=/a,title=t::\n");
}

TEST(a_step_shows_ten_of_each_level_and_counts_the_rest)
{
    char title[32];
    for (int i = 0; i < 10; i++) {
        (void)snprintf(title, sizeof title, "warning %d", i);
        add_plain(ANNOTATION_WARNING, title);
    }
    for (int i = 0; i < 13; i++) {
        (void)snprintf(title, sizeof title, "error %d", i);
        add_plain(ANNOTATION_ERROR, title);
    }
    annotations_print_github(&text, &annotations);
    ck_assert_uint_eq(count_of("::warning "), 10);
    ck_assert_uint_eq(count_of("::error "), 10);
    ck_assert_uint_eq(count_of("::notice "), 0);
    ck_assert_uint_eq(count_of("title=error 8::"), 1);
    ck_assert_uint_eq(count_of("title=error 9::"), 0);
    ck_assert_uint_eq(
        count_of("::error title=hbmstress::4 more are not shown here: a step shows 10\n"), 1);
}

static const char *word_of(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    ck_assert_msg(word != NULL, "no %s", key);
    return word;
}

static json_t *read_report(void)
{
    json_error_t error;
    annotations_print_gitlab(&text, &annotations);
    json_t *report = json_loads(writing_string(&text), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(json_is_array(report), "%s", error.text);
    return report;
}

TEST(a_report_names_gravity_and_place)
{
    static const struct {
        enum annotation_level level;
        const char *rule, *severity;
    } rows[] = {
        {ANNOTATION_ERROR, "crash", "blocker"},     {ANNOTATION_ERROR, "premature", "critical"},
        {ANNOTATION_ERROR, "counters", "major"},    {ANNOTATION_ERROR, "peak", "major"},
        {ANNOTATION_WARNING, "premature", "minor"}, {ANNOTATION_NOTICE, "crash", "info"}};
    enum { ROW_COUNT = sizeof rows / sizeof *rows };
    for (size_t i = 0; i < ROW_COUNT; i++) {
        annotations_add(&annotations, &(struct annotation){.level = rows[i].level,
                                                           .file = i == 0 ? NULL : "./x/a.ini",
                                                           .line = i,
                                                           .title = "t",
                                                           .message = "one\ntwo",
                                                           .rule = rows[i].rule});
    }
    json_t *report = read_report();
    ck_assert_uint_eq(json_array_size(report), ROW_COUNT);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const json_t *issue = json_array_get(report, i);
        const json_t *location = json_object_get(issue, "location");
        ck_assert_str_eq(word_of(issue, "severity"), rows[i].severity);
        ck_assert_str_eq(word_of(issue, "check_name"), rows[i].rule);
        ck_assert_str_eq(word_of(issue, "description"), "t: one; two");
        ck_assert_str_eq(word_of(location, "path"), i == 0 ? "." : "x/a.ini");
        ck_assert_int_eq(
            json_integer_value(json_object_get(json_object_get(location, "lines"), "begin")),
            i == 0 ? 1 : (int)i);
    }
    json_decref(report);
}

TEST(a_report_without_findings_is_an_empty_array)
{
    annotations_print_gitlab(&text, &annotations);
    ck_assert_str_eq(writing_string(&text), "[]\n");
    writing_clear(&text);
    annotations_print_github(&text, &annotations);
    ck_assert_str_eq(writing_string(&text), "");
    annotations_print_markdown(&text, "all is well", &annotations);
    ck_assert_str_eq(writing_string(&text), "### hbmstress\n\nall is well\n\n");
}

TEST(a_fingerprint_is_that_of_what_stays)
{
    struct annotation one = {
        .file = "a", .line = 1, .title = "t", .message = "seen 3 times", .rule = "r"};
    annotations_add(&annotations, &one);
    one.line = 9;
    one.message = "seen 4 times";
    annotations_add(&annotations, &one);
    one.title = "u";
    annotations_add(&annotations, &one);
    one.fingerprint = "mine";
    annotations_add(&annotations, &one);
    const struct annotation *items = annotations.items;
    ck_assert_str_eq(items[0].fingerprint, items[1].fingerprint);
    ck_assert_str_ne(items[1].fingerprint, items[2].fingerprint);
    ck_assert_uint_eq(strlen(items[2].fingerprint), ANNOTATION_HASH_BYTES - 1);
    ck_assert_str_eq(items[3].fingerprint, "mine");
}

TEST(markdown_shows_fifty_rows_and_no_markup_of_others)
{
    for (int i = 0; i < 52; i++) {
        add_plain(ANNOTATION_ERROR, "<script>a|b</script> **x**");
    }
    annotations_print_markdown(&text, "<b>broken</b>", &annotations);
    ck_assert_uint_eq(count_of("\n| error | a.ini:3 | **"), 50);
    ck_assert_uint_eq(count_of("\n2 more are not shown here.\n"), 1);
    ck_assert_uint_eq(count_of("\\<b\\>broken\\</b\\>"), 1);
    ck_assert_uint_eq(count_of("\\<script\\>a\\|b\\</script\\> \\*\\*x\\*\\***<br>words |"), 50);
}

TEST(foreign_text_ends_no_line_and_keeps_no_control_character)
{
    annotations_add(&annotations, &(struct annotation){.file = hostile_text,
                                                       .title = hostile_text,
                                                       .message = hostile_text,
                                                       .rule = hostile_text,
                                                       .fingerprint = hostile_text});
    annotations_print_github(&text, &annotations);
    ck_assert_uint_eq(count_of("\n"), 1);
    ck_assert_uint_eq(count_of("\033"), 0);
    ck_assert_uint_eq(count_of("\xff"), 0);
    writing_clear(&text);
    json_t *report = read_report();
    ck_assert_uint_eq(count_of("\\u00"), 0);
    ck_assert_ptr_nonnull(strstr(word_of(json_array_get(report, 0), "description"),
                                 "<script>alert(1)</script>\"'&|::error::x%0A"));
    json_decref(report);
    writing_clear(&text);
    annotations_print_markdown(&text, hostile_text, &annotations);
    ck_assert_uint_eq(count_of("<script"), 4);
    ck_assert_uint_eq(count_of("\\<script\\>alert"), 4);
    ck_assert_uint_eq(count_of("\033"), 0);
}

static void expect_disarmed(const char *given, bool is_json, const char *expected)
{
    struct writing words;
    writing_init(&words);
    writing_append(&words, given);
    writing_clear(&text);
    annotation_append_disarmed(&text, &words, is_json);
    ck_assert_str_eq(writing_string(&text), expected);
    writing_deinit(&words);
}

TEST(a_runner_reads_no_command_in_disarmed_text)
{
    expect_disarmed("a ::b\n::c\n \t::d\n\xC2\xA0::e\n:f:\n", false,
                    "a ::b\n: :c\n \t: :d\n\xC2\xA0: :e\n:f:\n");
    expect_disarmed("a ##[error]b ###[c # [d #[e", false, "a ## [error]b ### [c # [d #[e");
    expect_disarmed("{\"a\":\"##[error]::b\"}\n", true, "{\"a\":\"#\\u0023[error]::b\"}\n");
    expect_disarmed("", false, "");
}

static void release_all(void)
{
    writing_deinit(&text);
    annotations_deinit(&annotations);
}

EVERY_TEST(.teardown = release_all);
