/* Options of a target: which there are, by rows or by option_help, and what a setup may give. */
#include "harness/base/option.h"
#include "harness/base/target_option.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

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

TEST(a_wrong_key_or_value_is_refused_with_what_is_valid)
{
    static const struct {
        const char *key, *value, *wanted;
    } cases[] = {
        {"flag", "y", "option flag=y: valid values are yes, no"},
        {"word", "", "option word=: valid values are a, b, c"},
        {"word", "a|b", "option word=a|b: valid values are a, b, c"},
        {"order", "x,y", "option order=x,y: valid values are the permutations of x,y,z"},
        {"order", "x,y,y", "option order=x,y,y: valid values are the permutations of x,y,z"},
        {"number", "10", "option number=10: valid values are numbers from 2 to 9"},
        {"size", "0", "option size=0: valid values are sizes from 1, such as 512 or 1M"},
        {"power", "3", "option power=3: valid values are the powers of two from 1 to 4K"},
        {"power", "8K", "option power=8K: valid values are the powers of two from 1 to 4K"},
        {"loose", "c", "option loose=c: valid values are a, b"},
        {"colour", "red",
         "there is no option colour; valid are text, flag, word, order, number, size, power, loose"},
        {"flags", "yes",
         "there is no option flags; did you mean 'flag'? valid are text, flag, word, order, number, "
         "size, power, loose"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct values values = {0};
        char reason[256];
        ck_assert(!read_one(cases[i].key, cases[i].value, &values, reason));
        ck_assert_str_eq(reason, cases[i].wanted);
        ck_assert(!values.flag && values.word == 0 && values.number == 0 && values.size == 0);
        ck_assert(!read_one(cases[i].key, cases[i].value, NULL, reason));
        ck_assert_str_eq(reason, cases[i].wanted);
    }
    char reason[256];
    ck_assert(read_one("order", "y,z,x", NULL, reason) && read_one("size", "1", NULL, reason));
    ck_assert(read_one("text", "any", NULL, reason) && read_one("flag", "no", NULL, reason));
}

static const char *list_options(const struct target *target)
{
    static char text[512];
    struct target_option_shown shown;
    int used = 0;
    text[0] = '\0';
    for (size_t at = 0; target_option_next(target, &at, &shown);) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%.*s:%.*s:%s ",
                         (int)shown.key_length, shown.key, (int)shown.values_length, shown.values,
                         shown.help == NULL ? "" : shown.help);
    }
    return text;
}

TEST(rows_come_before_the_text)
{
    struct target target = {.option_help = "a=1|2\nno option\nbc=\n=x\nd=<e>"};
    ck_assert_str_eq(list_options(&target), "a:1|2: bc:: d:<e>: ");
    ck_assert(target_has_option(&target, "bc") && target_has_option(&target, "d"));
    ck_assert(!target_has_option(&target, "b") && !target_has_option(&target, "bcd"));
    target.options = rows + 5;
    ck_assert_str_eq(list_options(&target), "size:N: power:N: loose:a|b: ");
    ck_assert(!target_has_option(&target, "a") && target_has_option(&target, "loose"));
    target = (struct target){.options = rows + 1};
    ck_assert(strncmp(list_options(&target), "flag:yes|no:whether ", 20) == 0);
    ck_assert_str_eq(list_options(&(struct target){.name = "none"}), "");
}
