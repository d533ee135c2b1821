/* Options as rows: what each kind takes and where it is kept, and what is said of a wrong value. */
#include "harness/base/option.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdint.h>
#include <string.h>

enum { TEXT_COUNT_MAX = 2, FIRST_WORD = 1 };

struct values {
    const char *text;
    const char *texts[TEXT_COUNT_MAX];
    size_t text_count;
    uint64_t number, size, time_ns;
    uint32_t word, order[3];
    uint16_t half;
    uint8_t byte;
    bool flag, has_number;
};

static const char *set_byte(void *base, const char *value)
{
    struct values *values = base;
    values->byte = (uint8_t)value[0];
    return value[0] == 'x' ? NULL : "is no x";
}

#define FIELD(member) OPTION_AT(struct values, member)
#define FLAG(member) .flag_offset = offsetof(struct values, member)
static const struct option_row rows[] = {
    {.name = "text", .kind = OPTION_TEXT, FIELD(text), .most = 3},
    {.name = "texts",
     .kind = OPTION_TEXTS,
     FIELD(texts),
     FLAG(text_count),
     .most = TEXT_COUNT_MAX,
     .wrong = "is one too many"},
    {.name = "number",
     .kind = OPTION_NUMBER,
     FIELD(number),
     FLAG(has_number),
     .least = 2,
     .most = 9,
     .usual = 5},
    {.name = "half", .kind = OPTION_NUMBER, FIELD(half), .least = 1},
    {.name = "size", .kind = OPTION_SIZE, FIELD(size), .most = 4096},
    {.name = "power",
     .kind = OPTION_POWER,
     FIELD(size),
     .least = 1,
     .most = 64,
     .wrong = "is none"},
    {.name = "time", .kind = OPTION_DURATION, FIELD(time_ns), .least = 1, .most = UINT64_MAX / 2},
    {.name = "percent", .kind = OPTION_PERCENT, FIELD(byte), .most = 100},
    {.name = "word",
     .kind = OPTION_WORD,
     FIELD(word),
     .argument = "one|two",
     .least = FIRST_WORD,
     .wrong = "is neither"},
    {.name = "other words", .kind = OPTION_WORD, FIELD(word), .argument = "N", .words = "a|b|c"},
    {.name = "order",
     .kind = OPTION_ORDER,
     FIELD(order),
     .argument = "a,b,c",
     .least = 1,
     .wrong = "is no order"},
    {.name = "flag", .kind = OPTION_FLAG, FIELD(flag)},
    {.name = "other", .set = set_byte},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const char *set(struct values *values, const char *name, const char *value)
{
    return option_set(option_find(rows, ROW_COUNT, name), values, value);
}

TEST(a_value_is_kept_where_its_row_says)
{
    static const struct {
        const char *name, *value;
        struct values wanted;
    } cases[] = {
        {"number", "2", {.number = 2, .has_number = true}},
        {"number", "0x9", {.number = 9, .has_number = true}},
        {"half", "65535", {.half = 65535}},
        {"size", "4K", {.size = 4096}},
        {"power", "64", {.size = 64}},
        {"time", "3s", {.time_ns = 3000000000}},
        {"percent", "100", {.byte = 100}},
        {"percent", "7%", {.byte = 7}},
        {"word", "two", {.word = FIRST_WORD + 1}},
        {"other words", "a", {.word = 0}},
        {"other words", "c", {.word = 2}},
        {"order", "c,a,b", {.order = {3, 1, 2}}},
        {"flag", "yes", {.flag = true}},
        {"flag", "no", {.flag = false}},
        {"flag", NULL, {.flag = true}},
        {"other", "x", {.byte = 'x'}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct values values;
        memset(&values, 0, sizeof values);
        const char *wrong = set(&values, cases[i].name, cases[i].value);
        ck_assert_msg(wrong == NULL, "%s: %s", cases[i].name, wrong);
        ck_assert_msg(memcmp(&values, &cases[i].wanted, sizeof values) == 0, "%s=%s", cases[i].name,
                      cases[i].value);
    }
}

TEST(a_wrong_value_sets_nothing_and_has_a_reason, .teardown = snap_rest)
{
    static const char *const given[][2] = {
        {"text", ""},      {"text", "abcd"},    {"texts", ""},       {"number", "1"},
        {"number", "10"},  {"number", ""},      {"half", "0"},       {"size", "4097"},
        {"power", "3"},    {"power", "0"},      {"power", "128"},    {"time", "0s"},
        {"time", "never"}, {"percent", "101%"}, {"percent", "%"},    {"word", "three"},
        {"word", "on"},    {"word", "one|two"}, {"word", ""},        {"other words", "N"},
        {"order", "a,b"},  {"order", "a,b,b"},  {"order", "a,b,c,"}, {"flag", "maybe"}};
    static const struct values before;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct values values;
        memset(&values, 0, sizeof values);
        const char *wrong = set(&values, given[i][0], given[i][1]);
        ck_assert_msg(wrong != NULL, "%s takes '%s'", given[i][0], given[i][1]);
        show("%s='%s' %s\n", given[i][0], given[i][1], wrong);
        ck_assert_msg(memcmp(&values, &before, sizeof values) == 0, "%s=%s", given[i][0],
                      given[i][1]);
    }
    struct values values = {0};
    show("other='y' %s\n", set(&values, "other", "y"));
}

TEST(texts_are_kept_up_to_their_number)
{
    struct values values = {0};
    ck_assert_ptr_null(set(&values, "text", "abc"));
    ck_assert_str_eq(values.text, "abc");
    ck_assert_ptr_null(set(&values, "texts", "a"));
    ck_assert_ptr_null(set(&values, "texts", "b"));
    ck_assert_str_eq(set(&values, "texts", "c"), "is one too many");
    ck_assert_uint_eq(values.text_count, TEXT_COUNT_MAX);
    ck_assert_str_eq(values.texts[0], "a");
    ck_assert_str_eq(values.texts[1], "b");
}

TEST(what_is_given_is_known_and_copied)
{
    struct values base = {0}, over = {0};
    const struct option_row *number = option_find(rows, ROW_COUNT, "number");
    const struct option_row *half = option_find(rows, ROW_COUNT, "half");
    ck_assert_ptr_null(option_find(rows, ROW_COUNT, "numbers"));
    option_set_usual(rows, ROW_COUNT, &base);
    ck_assert_uint_eq(base.number, 5);
    ck_assert(!option_is_given(number, &base) && !option_is_given(half, &base));
    ck_assert_ptr_null(set(&over, "number", "7"));
    ck_assert_ptr_null(set(&over, "half", "256"));
    ck_assert(option_is_given(number, &over) && option_is_given(half, &over));
    option_copy(number, &base, &over);
    option_copy(half, &base, &over);
    ck_assert(base.number == 7 && base.has_number && base.half == 256);
}
