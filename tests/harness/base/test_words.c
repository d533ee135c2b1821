/* Counts, sizes and shares in words. */
#include "harness/base/size.h"
#include "harness/base/writing.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>

TEST(a_noun_follows_its_count, .teardown = snap_rest)
{
    static const struct {
        uint64_t count;
        const char *noun;
    } rows[] = {{1, "block"}, {0, "block"},  {UINT64_MAX, "op"}, {2, "entry"},  {1, "entry"},
                {2, "delay"}, {2, "switch"}, {2, "path"},        {2, "process"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct writing text;
        writing_init(&text);
        writing_append_count(&text, rows[i].count, rows[i].noun);
        show("%s\n", writing_string(&text));
        writing_deinit(&text);
    }
    show("%s %s\n", plural(1, "was", "were"), plural(0, "was", "were"));
}

TEST(a_share_is_rounded_down, .teardown = snap_rest)
{
    static const uint64_t rows[][2] = {{1, 3}, {3, 3},     {UINT64_MAX, UINT64_MAX},
                                       {0, 3}, {1, 10001}, {5, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        show("%s\n", share_text_of(rows[i][0], rows[i][1]).text);
    }
    ck_assert_uint_eq(share_of(UINT64_MAX - 1, UINT64_MAX, 100), 99);
    ck_assert_uint_eq(share_of(1, 0, 100), 0);
}

TEST(a_size_is_printed_as_the_runtime_prints_it)
{
    struct writing text;
    writing_init(&text);
    writing_append_size(&text, UINT64_C(8) << 20);
    writing_append(&text, " ");
    writing_append_share(&text, 1, 2);
    ck_assert_str_eq(writing_string(&text), "8.00M 50.00 %");
    ck_assert_str_eq(size_text_of(0).text, "0B");
    writing_deinit(&text);
}
