/* JSON that is built member by member: what a strict reader of others makes of it. */
#include "harness/base/json.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <jansson.h>

static struct writing text;

static void setup_text(void)
{
    writing_init(&text);
    writing_append(&text, "{");
}

static void teardown_text(void)
{
    writing_deinit(&text);
}

EVERY_TEST(.setup = setup_text, .teardown = teardown_text);

TEST(commas_stand_between_members_and_nowhere_else)
{
    json_nest(&text, "list", '[');
    json_add_number(&text, NULL, 1);
    json_add_digits(&text, NULL, UINT64_MAX);
    json_nest(&text, NULL, '{');
    json_unnest(&text, '}');
    json_unnest(&text, ']');
    json_add_no_number(&text, "none");
    json_add_boolean(&text, "truth", true);
    json_add_seconds(&text, "seconds", 1234567890);
    json_close(&text);
    ck_assert_str_eq(text.bytes,
                     "{\"list\":[1,\"18446744073709551615\",{}],\"none\":-1,\"truth\":true,"
                     "\"seconds\":1.234}\n");
}

TEST(a_fraction_has_six_digits_and_no_rounding_up)
{
    static const uint64_t cases[][2] = {{0, 0},
                                        {0, 7},
                                        {12, 3400},
                                        {2, 3},
                                        {7, 7},
                                        {999999999, 1000000000},
                                        {UINT64_MAX / 2, UINT64_MAX},
                                        {UINT64_MAX, UINT64_MAX}};
    json_nest(&text, "shares", '[');
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_add_fraction(&text, NULL, cases[i][0], cases[i][1]);
    }
    ck_assert_str_eq(text.bytes,
                     "{\"shares\":[0.000000,0.000000,0.003529,0.666666,1.000000,0.999999,"
                     "0.500000,1.000000");
}

TEST(a_spaced_document_has_blanks_but_none_at_the_end_of_a_line)
{
    text.is_spaced = true;
    json_add_number(&text, "a", 1);
    json_nest(&text, "b", '[');
    json_break(&text, 2);
    json_add_number(&text, NULL, 2);
    json_break(&text, 2);
    json_add_number(&text, NULL, 3);
    json_unnest(&text, ']');
    json_break(&text, 1);
    json_add_string(&text, "c", "");
    json_close(&text);
    ck_assert_str_eq(text.bytes, "{\"a\": 1, \"b\": [\n  2,\n  3],\n \"c\": \"\"}\n");
}

TEST(any_key_and_string_are_read_back)
{
    const char *hostile = "\"\\\n\t\x01\x7f\xc3\xa9 }],";
    json_add_string(&text, hostile, hostile);
    json_close(&text);
    json_error_t error;
    json_t *read = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(read != NULL, "%s", error.text);
    ck_assert_str_eq(json_string_value(json_object_get(read, hostile)), hostile);
    json_decref(read);
}

TEST(bytes_that_are_no_utf8_become_the_replacement_character)
{
    json_add_string(&text, "name", "\xff\xc0\x80\xed\xa0\x80");
    json_close(&text);
    json_error_t error;
    json_t *read = json_loadb(text.bytes, text.length, 0, &error);
    ck_assert_msg(read != NULL, "%s", error.text);
    ck_assert_str_eq(json_string_value(json_object_get(read, "name")),
                     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    json_decref(read);
}
