/* Counts, sizes and shares in words. */
#include "harness/base/size.h"
#include "harness/base/writing.h"
#include "tests/helpers/suite.h"

#include <check.h>

static void check_count(uint64_t count, const char *noun, const char *expected)
{
    struct writing text;
    writing_init(&text);
    writing_append_count(&text, count, noun);
    ck_assert_str_eq(writing_string(&text), expected);
    writing_deinit(&text);
}

TEST(a_noun_follows_its_count)
{
    check_count(1, "block", "1 block");
    check_count(0, "block", "0 blocks");
    check_count(UINT64_MAX, "op", "18446744073709551615 ops");
    check_count(2, "entry", "2 entries");
    check_count(1, "entry", "1 entry");
    check_count(2, "delay", "2 delays");
    check_count(2, "switch", "2 switches");
    check_count(2, "path", "2 paths");
    check_count(2, "process", "2 processes");
    ck_assert_str_eq(plural(1, "was", "were"), "was");
    ck_assert_str_eq(plural(0, "was", "were"), "were");
}

TEST(a_share_is_rounded_down)
{
    ck_assert_str_eq(share_text_of(1, 3).text, "33.33 %");
    ck_assert_str_eq(share_text_of(3, 3).text, "100.00 %");
    ck_assert_str_eq(share_text_of(UINT64_MAX, UINT64_MAX).text, "100.00 %");
    ck_assert_str_eq(share_text_of(0, 3).text, "0.00 %");
    ck_assert_str_eq(share_text_of(1, 10001).text, "less than 0.01 %");
    ck_assert_str_eq(share_text_of(5, 0).text, "0.00 %");
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
