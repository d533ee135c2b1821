/* Each form in which option_help lists values gives the values that can be tried. */
#include "infer/options.h"
#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

/* "a,b | c ..." of what the line lists. */
static const char *print_values(const char *help)
{
    static char text[512];
    const struct target target = {.option_help = help};
    struct option_values values;
    size_t at = 0;
    ck_assert(option_values_next(&target, &at, &values));
    int used = snprintf(text, sizeof text, "%s:", values.key);
    for (size_t i = 0; i < values.count; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, " %s", values.values[i]);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, "%s", values.is_open ? " ..." : "");
    return text;
}

TEST(bars_part_values)
{
    ck_assert_str_eq(print_values("defrag=none|slide|repack\n"), "defrag: none slide repack");
    ck_assert_str_eq(print_values("defrag=none"), "defrag: none");
}

TEST(a_list_is_tried_in_both_directions)
{
    ck_assert_str_eq(print_values("order=drain,defragment,evict\n"),
                     "order: drain,defragment,evict evict,defragment,drain");
}

TEST(a_number_is_tried_with_a_few)
{
    ck_assert_str_eq(print_values("granule=N\n"), "granule: 1 4K 64K");
}

TEST(any_text_is_not_tried)
{
    ck_assert_str_eq(print_values("limit=<bytes>\n"), "limit: ...");
    ck_assert_str_eq(print_values("with=PLANT,...\n"), "with: ...");
    ck_assert_str_eq(print_values("mode=fast|<number>\n"), "mode: fast ...");
    ck_assert_str_eq(print_values("mode=\n"), "mode: ...");
}

TEST(lines_follow_each_other)
{
    struct target target = {.option_help = "a=1|2\nnot an option\nb=x\n"};
    struct option_values values;
    size_t at = 0;
    ck_assert(option_values_next(&target, &at, &values));
    ck_assert_str_eq(values.key, "a");
    ck_assert(option_values_next(&target, &at, &values));
    ck_assert_str_eq(values.key, "b");
    ck_assert(!option_values_next(&target, &at, &values));
    target.option_help = NULL;
    at = 0;
    ck_assert(!option_values_next(&target, &at, &values));
}

TEST(rows_list_values_as_lines_do)
{
    static const struct target_option_row rows[] = {
        {"a", TARGET_OPTION_WORD, .values = "x|y"},
        {"n", TARGET_OPTION_SIZE, .values = "N", .least = 1},
        {.key = NULL}};
    const struct target target = {.option_help = "other=1\n", .options = rows};
    struct option_values values;
    size_t at = 0;
    ck_assert(option_values_next(&target, &at, &values));
    ck_assert_str_eq(values.key, "a");
    ck_assert_uint_eq(values.count, 2);
    ck_assert(option_values_next(&target, &at, &values));
    ck_assert_str_eq(values.key, "n");
    ck_assert_uint_eq(values.count, 3);
    ck_assert(!option_values_next(&target, &at, &values));
}

TEST(what_a_setup_cannot_hold_is_left_out)
{
    char line[256] = "k=a|";
    memset(line + 4, 'x', 100);
    ck_assert_str_eq(print_values(line), "k: a ...");
}
