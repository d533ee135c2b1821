/* Tables and lines that fit the screen: here it has 80 columns, as standard output is no terminal.
 */
#include "present/screen.h"
#include "present/table.h"
#include "present/wrap.h"

#include "tests/present/text_fixture.h"

#include <check.h>
#include <string.h>

EVERY_TEST(.teardown = snap_text);

/* Texts parted by '|'; ends with NULL. */
static void show_table(size_t column_count, size_t left_count, const char *const *rows)
{
    struct table table;
    table_init(&table, column_count, left_count);
    for (; *rows != NULL; rows++) {
        char row[512], *rest = row, *cell;
        (void)snprintf(row, sizeof row, "%s", *rows);
        while ((cell = strsep(&rest, "|")) != NULL) {
            table_put(&table, cell);
        }
    }
    table_print(&table, 0, &text);
    table_deinit(&table);
}

TEST(a_wide_table_breaks_its_titles_before_anything_else)
{
    static const char *const rows[] = {
        "fault|failed once|failed forever|ops struck|failed|succeeded|OOMs|sites|replays|findings",
        "busy|1|2|3|4|5|6|7|8|9", NULL};
    show_table(10, 1, rows);
}

TEST(a_name_without_room_stands_on_a_line_of_its_own)
{
    static const char *const rows[] = {
        "scenario|trials|ops|skipped %|OOMs|justified|premature|unknown|broken|ops/s",
        "fragmentation_storm|8|20000|0.0|1267|1267|0|0|0|11707",
        "slow_leak|1|20000|0.0|0|0|0|0|0|150671", NULL};
    show_table(10, 1, rows);
}

TEST(columns_without_room_go_on_in_a_further_line)
{
    static const char *const rows[] = {"at|first number|second|third",
                                       "x|111111111122222222223333333333|44444444445555555555|"
                                       "666666666677777777778888888888",
                                       NULL};
    show_table(4, 1, rows);
}

TEST(prose_is_broken_between_words_and_a_line_of_its_own_is_not)
{
    struct table table;
    table_init(&table, 2, 2);
    table_put(&table, "crowded");
    table_put(&table, "tiny full devices: a hole of every length at every place, refilled in every "
                      "order");
    table_put_line(&table,
                   "  /a/path/of/many/letters/a/path/of/many/letters/with one blank/and/more/of/it",
                   false);
    table_print(&table, 0, &text);
    table_deinit(&table);
}

TEST(lines_are_broken_where_they_have_no_room_and_commands_never)
{
    writing_append(&text, "short\n  a line with ninety letters is broken between two of its words, "
                          "and so it goes on below\n");
    wrap_since(&text, 0);
    snap(writing_string(&text));
    writing_clear(&text);
    writing_append(&text,
                   "finding 1: a signature of many words that no line may break, however long "
                   "they are: seen");
    wrap_after(&text, 0, text.length - strlen(" seen"));
    wrap_whole(&text, 0, "hbmstress replay out/repros/one.ops");
}

TEST(lines_of_an_answer_go_on_below_their_second_column)
{
    writing_append(
        &text,
        "  drain       4 queued frees holding 32.00M left; their events or holds have not ended\n"
        "  Enough was free.  Moving blocks joins it, so the refusal was premature, unless it\n"
        "op 12: alloc size=20M tag=2, an op that is longer than the screen is wide, for 'batch'\n"
        "  Its proof: hbmstress replay corpus/causes/exhausted-near.ops --certificates DIRECTORY\n");
    wrap_answer(&text, 0);
}

TEST(columns_that_are_kept_are_those_of_the_screen)
{
    screen_keep_columns(118);
    ck_assert_uint_eq(screen_columns(), 118);
    screen_keep_columns(0);
    ck_assert_uint_eq(screen_columns(), SCREEN_COLUMNS);
}
