/* Options of a target: which there are, by rows or by option_help, and what a setup may give. */
#include "harness/base/option.h"
#include "harness/base/target_option.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>

struct values {
    const char *text;
    uint64_t number, size;
    uint32_t word, order[3];
    bool flag;
};
#define AT(member) OPTION_AT(struct values, member)
static const struct target_option_row rows[] = {
    {"text", TARGET_OPTION_TEXT, .values = "<text>", AT(text)},
    {"flag", TARGET_OPTION_FLAG, .values = "yes|no", .help = "whether", AT(flag)},
    {"word", TARGET_OPTION_WORD, .values = "a|b|c", .least = 1, AT(word)},
    {"order", TARGET_OPTION_ORDER, .values = "x,y,z", AT(order)},
    {"number", TARGET_OPTION_NUMBER, .values = "N", .least = 2, .most = 9, AT(number)},
    {"size", TARGET_OPTION_SIZE, .values = "N", .least = 1, AT(size)},
    {"power", TARGET_OPTION_POWER, .values = "N", .least = 1, .most = 4096, AT(size)},
    {"loose", TARGET_OPTION_WORD, .values = "a|b"},
    {.key = NULL}};

static bool read_one(const char *key, const char *value, struct values *values, char reason[256])
{
    const struct target_option option = {key, value};
    const struct target_setup setup = {.options = &option, .option_count = 1};
    reason[0] = '\0';
    return target_options_read(rows, &setup, values, reason, 256);
}

TEST(values_are_kept_where_rows_say)
{
    struct values values = {0};
    char reason[256];
    ck_assert(read_one("text", "", &values, reason) && values.text[0] == '\0');
    ck_assert(read_one("flag", "yes", &values, reason) && values.flag);
    ck_assert(read_one("word", "b", &values, reason) && values.word == 2);
    ck_assert(read_one("order", "z,x,y", &values, reason));
    ck_assert(values.order[0] == 2 && values.order[1] == 0 && values.order[2] == 1);
    ck_assert(read_one("number", "9", &values, reason) && values.number == 9);
    ck_assert(read_one("size", "3M", &values, reason) && values.size == 3 << 20);
    ck_assert(read_one("power", "4K", &values, reason) && values.size == 4096);
    ck_assert(read_one("loose", "b", &values, reason));
}

TEST(a_wrong_key_or_value_is_refused_with_what_is_valid, .teardown = snap_rest)
{
    static const char *const wrong[][2] = {{"flag", "y"},    {"word", ""},       {"word", "a|b"},
                                           {"order", "x,y"}, {"order", "x,y,y"}, {"number", "10"},
                                           {"size", "0"},    {"power", "3"},     {"power", "8K"},
                                           {"loose", "c"},   {"colour", "red"},  {"flags", "yes"}};
    char reason[256], again[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct values values = {0};
        ck_assert(!read_one(wrong[i][0], wrong[i][1], &values, reason));
        show("%s\n", reason);
        ck_assert(!values.flag && values.word == 0 && values.number == 0 && values.size == 0);
        ck_assert(!read_one(wrong[i][0], wrong[i][1], NULL, again));
        ck_assert_str_eq(again, reason);
    }
    ck_assert(read_one("order", "y,z,x", NULL, reason) && read_one("size", "1", NULL, reason));
    ck_assert(read_one("text", "any", NULL, reason) && read_one("flag", "no", NULL, reason));
}

static void show_options(const struct target *target)
{
    struct target_option_shown shown;
    for (size_t at = 0; target_option_next(target, &at, &shown);) {
        show("%.*s:%.*s:%s ", (int)shown.key_length, shown.key, (int)shown.values_length,
             shown.values, shown.help == NULL ? "" : shown.help);
    }
    show("|\n");
}

TEST(rows_come_before_the_text, .teardown = snap_rest)
{
    struct target target = {.option_help = "a=1|2\nno option\nbc=\n=x\nd=<e>"};
    show_options(&target);
    ck_assert(target_has_option(&target, "bc") && target_has_option(&target, "d"));
    ck_assert(!target_has_option(&target, "b") && !target_has_option(&target, "bcd"));
    target.options = rows + 5;
    show_options(&target);
    ck_assert(!target_has_option(&target, "a") && target_has_option(&target, "loose"));
    target = (struct target){.options = rows + 1};
    show_options(&target);
    show_options(&(struct target){.name = "none"});
}
