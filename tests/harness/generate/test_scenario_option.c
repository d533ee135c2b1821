/* The options of scenarios: which values they accept, what stands where none is given, and what is
 * said of wrong ones. */
#include "harness/generate/scenario_option.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {"drawn", "none", NULL};
static const struct scenario_option options[] = {
    {.name = "batch", .summary = "sequences", .low = 1, .high = 64, .value = 8},
    {.name = "leak", .summary = "who", .words = words, .high = 3, .value = SCENARIO_WORD(0)},
    {.name = "checkpoint_every", .summary = "steps", .low = 1, .high = 9, .value = 2},
    {.name = "order", .summary = "how", .words = words, .value = SCENARIO_WORD(1)},
    {0}};

static const char *refuse_batch_7(const struct setup *setup)
{
    const char *batch = scenario_option_given(setup, "batch");
    return batch != NULL && strcmp(batch, "7") == 0 ? "batch is 7" : NULL;
}

static const struct scenario with_options = {
    .name = "some", .options = options, .refuses = refuse_batch_7, .counts_steps = true};
static const struct scenario plain = {.name = "plain"};

static struct setup setup;
static char reason[SCENARIO_OPTION_REASON_BYTES];

static void give(const char *key, const char *value)
{
    setup_init(&setup);
    setup.scenario_option_count = 1;
    snprintf(setup.scenario_options[0].key, sizeof setup.scenario_options[0].key, "%s", key);
    snprintf(setup.scenario_options[0].value, sizeof setup.scenario_options[0].value, "%s", value);
}

static void check_refused(const struct scenario *scenario, const char *expected)
{
    reason[0] = '\0';
    ck_assert(!scenario_options_check(scenario, &setup, reason));
    ck_assert_str_eq(reason, expected);
}

TEST(an_option_accepts_its_numbers_and_words_alone)
{
    static const struct {
        const char *name, *text;
        bool is_valid;
        uint64_t value;
    } cases[] = {
        {"batch", "1", true, 1},
        {"batch", "64", true, 64},
        {"batch", "0", false, 0},
        {"batch", "65", false, 0},
        {"batch", "-1", false, 0},
        {"batch", "8.0", false, 0},
        {"batch", "", false, 0},
        {"batch", "drawn", false, 0},
        {"leak", "0", true, 0},
        {"leak", "3", true, 3},
        {"leak", "4", false, 0},
        {"leak", "drawn", true, SCENARIO_WORD(0)},
        {"leak", "Drawn", false, 0},
        {"leak", "draw", false, 0},
        {"order", "none", true, SCENARIO_WORD(1)},
        {"order", "0", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = 4711;
        const struct scenario_option *option = scenario_option_find(&with_options, cases[i].name);
        ck_assert_ptr_nonnull(option);
        ck_assert_msg(scenario_option_parse(option, cases[i].text, &value) == cases[i].is_valid,
                      "%s=%s", cases[i].name, cases[i].text);
        ck_assert_uint_eq(value, cases[i].is_valid ? cases[i].value : 4711);
    }
    ck_assert_ptr_null(scenario_option_find(&with_options, "bat"));
    ck_assert_ptr_null(scenario_option_find(&plain, "batch"));
}

TEST(the_default_stands_where_nothing_is_given)
{
    setup_init(&setup);
    ck_assert_uint_eq(scenario_option_value(&with_options, &setup, "batch"), 8);
    ck_assert_uint_eq(scenario_option_value(&with_options, &setup, "leak"), SCENARIO_WORD(0));
    ck_assert(!scenario_option_is_given(&setup, "batch"));
    ck_assert_ptr_null(scenario_option_given(&setup, "batch"));
    give("batch", "16");
    ck_assert_uint_eq(scenario_option_value(&with_options, &setup, "batch"), 16);
    ck_assert(scenario_option_is_given(&setup, "batch"));
    ck_assert_str_eq(scenario_option_given(&setup, "batch"), "16");
    ck_assert(!scenario_option_is_given(&setup, "leak"));
}

TEST(values_are_printed_as_words_and_a_range)
{
    static const char *const printed[] = {"1..64", "drawn|none|0..3", "1..9", "drawn|none"};
    for (size_t i = 0; i < sizeof printed / sizeof printed[0]; i++) {
        char text[SCENARIO_OPTION_HELP_BYTES];
        scenario_option_print_values(&options[i], text);
        ck_assert_str_eq(text, printed[i]);
    }
}

TEST(a_wrong_name_is_answered_with_the_nearest_one)
{
    give("bach", "2");
    check_refused(&with_options, "scenario 'some' has no option 'bach'; did you mean 'batch'?");
    give("checkpoints_every", "2");
    check_refused(&with_options, "scenario 'some' has no option 'checkpoints_every'; did you mean "
                                 "'checkpoint_every'?");
    give("temperature", "2");
    check_refused(&with_options, "scenario 'some' has no option 'temperature'; it has: batch leak "
                                 "checkpoint_every order");
    give("batch", "2");
    check_refused(&plain, "scenario 'plain' has no option 'batch'");
}

TEST(a_wrong_value_is_answered_with_the_valid_ones)
{
    give("batch", "65");
    check_refused(&with_options, "batch=65: valid values are 1..64");
    give("leak", "some");
    check_refused(&with_options, "leak=some: valid values are drawn|none|0..3");
    give("batch", "7");
    check_refused(&with_options, "batch is 7");
    give("batch", "6");
    ck_assert(scenario_options_check(&with_options, &setup, reason));
}

TEST(steps_are_for_scenarios_that_count_them)
{
    setup_init(&setup);
    setup.until_step = 10;
    check_refused(&plain,
                  "scenario 'plain' counts no steps, so that --until has no meaning for it");
    ck_assert(scenario_options_check(&with_options, &setup, reason));
}
