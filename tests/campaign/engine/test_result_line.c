/* Lines of results.jsonl: their members are found, and copied byte for byte. */
#include "campaign/engine/whole.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

EVERY_TEST(.teardown = snap_rest);

static struct result_line line_of(const char *text)
{
    return (struct result_line){.text = text, .length = strlen(text)};
}

static struct result_line read_line_of(const char *text)
{
    struct result_line line = line_of(text);
    ck_assert_msg(result_line_read(&line), "%s is refused", text);
    return line;
}

TEST(what_is_no_object_of_ours_is_refused)
{
    static const char *const good[] = {"{\"a\":1}", "{\"a\":{\"b\":[1,\"}\"]},\"c\":\"\\\"}\"}",
                                       "{\"a\":\"\",\"b\":0.50}"};
    /* clang-format off */
    static const char *const bad[] = {
        "", "{", "x", "{\"a\":1", "{\"a\":}", "{\"a\":1}x", "{\"a\":1,}x", "{a:1}", "{\"a\"1}",
        "{\"a\":\"1}", "{\"a\":[1}", "{\"a\":1}}", "{\"a\\\"}", "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"repro\" :\"a/b\"}", "{\"a\":1,\"repro\":3}"};
    /* clang-format on */
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct result_line line = read_line_of(good[i]);
        result_line_forget(&line);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct result_line line = line_of(bad[i]);
        ck_assert_msg(!result_line_read(&line), "%s is accepted", bad[i]);
        ck_assert_ptr_null(line.values);
    }
}

TEST(members_are_found_on_the_first_level_alone)
{
    struct result_line line = read_line_of(
        "{\"type\":\"trial\",\"in\":{\"op\":1,\"name\":\"no\"},\"op\":42,\"name\":\"a \\\"b\\\"\",\"low\":-1}");
    static const char *const names[] = {"op", "name", "b", "typ", "low", "in"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t number = 7;
        show("%s: ", names[i]);
        SHOW(result_line_find_number(&line, names[i], &number), number,
             result_line_find_text(&line, names[i]));
    }
    SHOW(result_line_has(&line, "name", "a \"b\""), result_line_has(&line, "name", "no"),
         result_line_has(&line, "op", "42"));
    result_line_forget(&line);
}

static void show_copy(const struct result_line *line, const char *folder_name,
                      const char *const dropped[])
{
    struct writing text;
    writing_init(&text);
    result_line_copy(line, folder_name, dropped, &text);
    show("%s", writing_string(&text));
    writing_deinit(&text);
}

TEST(a_copy_has_the_same_bytes_but_for_paths_and_what_is_dropped)
{
    static const char *const nothing[] = {NULL};
    static const char *const dropped[] = {"repro", "largest", NULL};
    struct result_line line = read_line_of(
        "{\"share\":0.500000,\"repro\":\"a/b c/repros/x.ops\",\"largest\":[1,2],\"output\":\"o/t.txt\","
        "\"reason\":\"a/b/c\",\"kept\":\"none\"}");
    show_copy(&line, "whole \"1\"", nothing);
    show_copy(&line, "w", dropped);
    result_line_forget(&line);
}

TEST(a_size_of_64_bits_is_copied_with_its_digits)
{
    static const char *const dropped[] = {"largest", NULL};
    struct result_line line = read_line_of(
        "{\"op\":7,\"requested\":18446744073709551615,\"largest\":512,\"trial\":3}");
    uint64_t number = 0;
    ck_assert(!result_line_find_number(&line, "requested", &number));
    ck_assert(result_line_find_number(&line, "trial", &number));
    ck_assert_uint_eq(number, 3);
    show_copy(&line, "w", dropped);
    result_line_forget(&line);
}

TEST(a_saved_file_is_the_end_of_its_path)
{
    char name[16];
    struct result_line line = read_line_of(
        "{\"a\":\"/x/y/repros/b.ops\",\"b\":\"b.ops\",\"c\":3,\"d\":\"a/0123456789abcdef\"}");
    for (const char *member = "a\0b\0c\0d\0e\0"; *member != '\0'; member += 2) {
        result_line_find_saved(&line, member, name, sizeof name);
        SHOW(member, name);
    }
    result_line_forget(&line);
}
