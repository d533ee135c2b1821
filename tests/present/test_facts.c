/* Facts are filled once, and each form tells them in its way. */
#include "present/facts.h"

#include "harness/base/json.h"

#include "tests/present/text_fixture.h"

#include <check.h>
#include <string.h>

static const struct facts_column columns[] = {
    {"tag", "of"}, {"bytes", "#bytes"}, {"share", "#share"}, {"age", "#ops ago"}};

static struct facts facts;

static void end_test(void)
{
    snap_text();
    facts_deinit(&facts);
}

EVERY_TEST(.teardown = end_test);

static void fill(void)
{
    struct writing lines = {0};
    facts_heading(&facts, "Who holds %s", "it");
    facts_table(&facts, columns, sizeof columns / sizeof *columns);
    facts_open(&facts, "holder");
    facts_text(&facts, "tag", "a\x1b");
    facts_size(&facts, "bytes", 8 << 20);
    facts_share(&facts, "share", 1, 4);
    facts_nest(&facts, "ops", '[');
    facts_count(&facts, NULL, 3);
    facts_count(&facts, NULL, 4);
    facts_unnest(&facts, ']');
    facts_cell_count(&facts, "age", 12);
    facts_close(&facts);
    facts_open(&facts, NULL);
    facts_cell_format(&facts, "tag", "re%s", "st");
    facts_close(&facts);
    facts_table_end(&facts);
    facts_say(&facts, "  - ", 4, "%s", "words & words");
    facts_line(&facts, "hbmstress replay %s", "list.ops");
    facts_answer(&facts, "rank 1  %s", "ended");
    writing_append(&lines, "rank 2  ended\nall ended\n");
    facts_answers(&facts, &lines);
    facts_lines(&facts, &lines);
    writing_deinit(&lines);
    writing_append(facts_given(&facts), "{\"type\":\"chart\"}\n");
    facts_given_end(&facts);
    facts_open(&facts, "next");
    facts_digits(&facts, "seed", 7);
    facts_boolean(&facts, "fits", true);
    facts_null(&facts, "op");
    facts_count_or_null(&facts, "step", false, 5);
    facts_count_or_null(&facts, "host", true, 2);
    facts_text_if(&facts, "why", "");
    facts_nest(&facts, "tag", '{');
    json_add_number(facts_given(&facts), "number", 9);
    facts_given_end(&facts);
    facts_unnest(&facts, '}');
    json_add_number(facts_given(&facts), "also", 8);
    facts_given_end(&facts);
    (void)facts_given(&facts);
    facts_given_end(&facts);
    facts_close(&facts);
}

TEST(json_has_records_and_no_words)
{
    fill();
    facts_print(&facts, FACTS_JSON, &text);
}

TEST(people_read_tables_and_words)
{
    fill();
    facts_print(&facts, FACTS_WORDS, &text);
}

TEST(a_table_may_be_indented_and_a_heading_is_broken)
{
    facts_heading(&facts, "%s%s", "Words that are far too long for the eighty columns of a pipe, ",
                  "and some more words");
    facts_table_in(&facts, 2, columns, 2);
    facts_open(&facts, "holder");
    facts_text(&facts, "tag", "a");
    facts_size(&facts, "bytes", 1 << 20);
    facts_close(&facts);
    facts_table_end(&facts);
    facts_print(&facts, FACTS_WORDS, &text);
}

TEST(a_table_without_rows_is_not_printed)
{
    facts_table(&facts, columns, 2);
    facts_table_end(&facts);
    facts_print(&facts, FACTS_WORDS, &text);
    ck_assert_uint_eq(text.length, 0);
}

TEST(facts_can_be_filled_again)
{
    fill();
    facts_clear(&facts);
    facts_open(&facts, "end");
    facts_count(&facts, "exit", 0);
    facts_close(&facts);
    facts_print(&facts, FACTS_JSON, &text);
}

TEST(lines_of_others_cannot_act_on_a_terminal)
{
    struct writing lines = {0};
    writing_append(&lines, "a\xe2\x80\xae"
                           "b\nc\x1b[2J\n");
    facts_answers(&facts, &lines);
    facts_lines(&facts, &lines);
    facts_print(&facts, FACTS_WORDS, &text);
    writing_deinit(&lines);
}
