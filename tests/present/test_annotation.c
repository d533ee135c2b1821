/* Annotations as GitHub and GitLab read them. */
#include "present/annotation.h"
#include "tests/present/report_campaigns.h"
#include "tests/present/text_fixture.h"

#include <stdio.h>
#include <string.h>

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
}

TEST(a_report_names_gravity_and_place)
{
    static const struct annotation rows[] = {{.level = ANNOTATION_ERROR, .rule = "crash"},
                                             {.level = ANNOTATION_ERROR, .rule = "premature"},
                                             {.level = ANNOTATION_ERROR, .rule = "counters"},
                                             {.level = ANNOTATION_ERROR, .rule = "peak"},
                                             {.level = ANNOTATION_WARNING, .rule = "premature"},
                                             {.level = ANNOTATION_NOTICE, .rule = "crash"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct annotation row = rows[i];
        row.file = i == 0 ? NULL : "./x/a.ini";
        row.line = i;
        row.title = "t";
        row.message = "one\ntwo";
        annotations_add(&annotations, &row);
    }
    annotations_print_gitlab(&text, &annotations);
}

TEST(a_report_without_findings_is_an_empty_array)
{
    annotations_print_gitlab(&text, &annotations);
    annotations_print_github(&text, &annotations);
    annotations_print_markdown(&text, "all is well", &annotations);
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
    ck_assert_uint_eq(
        count_of(
            "\n| error | a.ini:3 | **\\<script\\>a\\|b\\</script\\> \\*\\*x\\*\\***<br>words |"),
        50);
    snap_lines(writing_string(&text), "broken|not shown");
    writing_clear(&text);
}

TEST(foreign_text_ends_no_line_and_keeps_no_control_character)
{
    annotations_add(&annotations, &(struct annotation){.file = hostile_text,
                                                       .title = hostile_text,
                                                       .message = hostile_text,
                                                       .rule = hostile_text,
                                                       .fingerprint = hostile_text});
    annotations_print_github(&text, &annotations);
    annotations_print_gitlab(&text, &annotations);
    annotations_print_markdown(&text, hostile_text, &annotations);
}

TEST(a_runner_reads_no_command_in_disarmed_text)
{
    static const char *const given[] = {"a ::b\n::c\n \t::d\n\xC2\xA0::e\n:f:\n",
                                        "a ##[error]b ###[c # [d #[e", "",
                                        "{\"a\":\"##[error]::b\"}\n"};
    for (size_t i = 0; i < 4; i++) {
        struct writing words = {0};
        writing_append(&words, given[i]);
        writing_append_format(&text, "%zu: ", i);
        annotation_append_disarmed(&text, &words, i == 3); /* JSON */
        writing_append(&text, "\n");
        writing_deinit(&words);
    }
}

static void release_all(void)
{
    snap_text();
    annotations_deinit(&annotations);
}

EVERY_TEST(.teardown = release_all);
