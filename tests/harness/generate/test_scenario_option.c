/* The options of scenarios: which values they accept, what stands where none is given, and what is
 * said of wrong ones. */
#include "harness/generate/scenario_option.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <inttypes.h>
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

static void show_refused(const struct scenario *scenario)
{
    reason[0] = '\0';
    ck_assert(!scenario_options_check(scenario, &setup, reason));
    show("%s\n", reason);
}

EVERY_TEST(.teardown = snap_rest);

TEST(an_option_accepts_its_numbers_and_words_alone)
{
    static const char *const given[][2] = {
        {"batch", "1"},    {"batch", "64"},  {"batch", "0"},    {"batch", "65"},
        {"batch", "-1"},   {"batch", "8.0"}, {"batch", ""},     {"batch", "drawn"},
        {"leak", "0"},     {"leak", "3"},    {"leak", "4"},     {"leak", "drawn"},
        {"leak", "Drawn"}, {"leak", "draw"}, {"order", "none"}, {"order", "0"}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        uint64_t value = 4711;
        const struct scenario_option *option = scenario_option_find(&with_options, given[i][0]);
        ck_assert_ptr_nonnull(option);
        const bool is_valid = scenario_option_parse(option, given[i][1], &value);
        ck_assert(is_valid || value == 4711);
        show("%s=%s %s%" PRIu64 "\n", given[i][0], given[i][1], is_valid ? "" : "invalid, ", value);
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
    for (size_t i = 0; i < 4; i++) {
        char text[SCENARIO_OPTION_HELP_BYTES];
        scenario_option_print_values(&options[i], text);
        show("%s\n", text);
    }
}

TEST(a_wrong_name_or_value_is_answered_with_the_nearest_or_the_valid_ones)
{
    static const char *const given[][2] = {{"bach", "2"},        {"checkpoints_every", "2"},
                                           {"temperature", "2"}, {"batch", "65"},
                                           {"leak", "some"},     {"batch", "7"}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        give(given[i][0], given[i][1]);
        show_refused(&with_options);
    }
    give("batch", "2");
    show_refused(&plain);
    give("batch", "6");
    ck_assert(scenario_options_check(&with_options, &setup, reason));
}

TEST(steps_are_for_scenarios_that_count_them)
{
    setup_init(&setup);
    setup.until_step = 10;
    show_refused(&plain);
    ck_assert(scenario_options_check(&with_options, &setup, reason));
}
