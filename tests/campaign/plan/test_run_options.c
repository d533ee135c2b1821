/* The options of a run: which values each takes, what is said of others, and which of two values
 * counts. */
#include "campaign/plan/lookup.h"
#include "campaign/plan/run_options.h"
#include "explore/strategies/strategies.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

EVERY_TEST(.teardown = snap_rest);

static void show_taken(const struct option_row *row, const struct run_options *options)
{
    const char *at = (const char *)options + row->offset;
    uint64_t number = 0;
    char text[LANE_STRATEGY_TEXT_BYTES];
    if (row->kind == OPTION_TEXT) {
        show("\"%.40s\"\n", *(const char *const *)at);
    } else if (row->kind != OPTION_OTHER) {
        memcpy(&number, at, row->size_bytes);
        show("%llu%s\n", (unsigned long long)number,
             row->flag_offset == 0 || option_is_given(row, options) ? "" : ", not given");
    } else if (options->lanes.strategy != NULL) {
        show("%s, argument %llu\n", lane_strategy_print(&options->lanes, text),
             (unsigned long long)options->lanes.argument);
    } else if (options->option_count > 0) {
        const struct setup_option *last = &options->options[options->option_count - 1];
        show("%.12s = %.12s\n", last->key, last->value);
    } else {
        SHOW(options->lanes.has_lanes, options->lanes.lane_count, options->shard_index,
             options->shard_count);
    }
}

/* Gives the option that value, and shows what comes of it: a wrong one changes nothing. */
static bool set(struct run_options *options, const char *name, const char *value)
{
    const struct option_row *row = run_option_named(name);
    struct run_options before;
    ck_assert_msg(row != NULL, "there is no %s", name);
    memcpy(&before, options, sizeof before);
    const char *complaint = option_set(row, options, value);
    show("%s '%.24s': %s%s", name, value == NULL ? "" : value, complaint == NULL ? "" : complaint,
         complaint == NULL ? "" : "\n");
    if (complaint == NULL) {
        show_taken(row, options);
    }
    ck_assert(complaint == NULL || memcmp(options, &before, sizeof before) == 0);
    return complaint == NULL;
}

/* As above, and it is taken; nothing is shown. */
static void give(struct run_options *options, const char *name, const char *value)
{
    ck_assert_msg(option_set(run_option_named(name), options, value) == NULL, "%s %s", name,
                  value != NULL ? value : "");
}

#define MOST "18446744073709551615"
/* The option, then values, one over the other: the least and the most that it takes, and what is
 * beyond. */
static const char *const values[] = {
    "--hosts|0|1|64|65",
    "--workers|0|1|256|257",
    "--seed|-1|0|" MOST "|18446744073709551616",
    "--ops|0|1|18446744073709551614|" MOST,
    "--seeds|0|1|18446744073709551614|" MOST,
    "--capacity|0|1|1024T|1025T",
    "--time|0s|1s",
    "--trial-timeout|0|2s",
    "--op-timeout|x|3s",
    "--replay-sample|x|0|" MOST "|",
    "--shrink-budget|x|0|" MOST "|",
    "--results-limit|x|0|2M|-1",
    "--keep|-1|0|" MOST "|x",
    "--regret-max|-1|0|" MOST "|x",
    "--allow-unrepeated|-1|0|" MOST "|x",
    "--schedules|0|x|many",
    "--shard|1/1|1000000/1000000|0/3|4/3|1/0|3|/3|1/|1/1000001|a/2",
    "--annotate|github|gitlab|GitHub||none|git",
    "--lanes|2|16|none|1|17||x|0",
    "--strategy|pct=1|pct|pct=32|delay=1|delay=64|exhaustive=0|exhaustive=1000000|random|pct=0|pct=33"
    "|delay=65|exhaustive=1000001|random=1|pctt|replay|quite_another"
    "|pct_with_more_than_31_bytes_in_its_name",
    "--backend|auto|threads|fibers|free|fiber",
    "--check-races|yes|no|maybe",
    "--target||x",
    "--chip||x",
    "--job||x",
    "--out||x",
    "--baseline||x",
    "--target-option|a=b=c|=b",
};
enum { VALUES_COUNT = sizeof values / sizeof *values };

TEST(an_option_takes_its_values_and_no_others)
{
    for (size_t i = 0; i < VALUES_COUNT; i++) {
        char text[400], *rest = text;
        (void)snprintf(text, sizeof text, "%s", values[i]);
        const char *name = strsep(&rest, "|");
        struct run_options options;
        run_options_init(&options);
        while (rest != NULL) {
            (void)set(&options, name, strsep(&rest, "|"));
        }
    }
    struct run_options options = {0};
    (void)set(&options, "--check-races", NULL);
}

/* The one that repeats a list looks for nothing. */
TEST(an_unknown_strategy_is_told_which_there_are)
{
    struct run_options options = {0};
    const char *complaint = lane_options_set_strategy(&options.lanes, "quite_another");
    for (size_t i = 0; strategies[i] != NULL; i++) {
        const bool is_listed = strstr(complaint, strategies[i]->name) != NULL;
        ck_assert_int_eq(is_listed, lane_strategy_is_search(strategies[i]));
    }
}

TEST(what_is_not_given_has_its_default)
{
    struct run_options options;
    run_options_init(&options);
    SHOW(options.replay_sample, options.shrink_budget, options.results_limit_bytes,
         options.trial_timeout_ns, options.op_timeout_ns);
    for (size_t i = 0; i < run_option_row_count; i++) {
        const struct option_row *row = &run_option_rows[i];
        ck_assert_ptr_eq(run_option_named(row->name), row);
        if (row->key != NULL) {
            ck_assert_ptr_eq(run_option_keyed(row->key), row);
            ck_assert_msg(!option_is_given(row, &options), "%s", row->key);
        }
    }
    ck_assert_ptr_null(run_option_named("seed"));
    ck_assert_ptr_null(run_option_keyed("--seed"));
}

/* So many bytes of a letter. */
static const char *repeat(char letter, size_t count, const char *behind)
{
    static char text[SETUP_VALUE_BYTES + 160];
    memset(text, letter, count);
    (void)snprintf(text + count, sizeof text - count, "%s", behind);
    return text;
}

TEST(texts_are_no_longer_than_a_setup_holds)
{
    struct run_options options = {0};
    ck_assert(!set(&options, "--target", repeat('x', SETUP_VALUE_BYTES, "")));
    ck_assert(set(&options, "--target", repeat('x', SETUP_VALUE_BYTES - 1, "")));
    /* 63 bytes of a key and of a value, and one more of each. */
    char value[65];
    memset(value, 'v', sizeof value);
    value[0] = '=';
    value[64] = '\0';
    ck_assert(set(&options, "--target-option", repeat('k', 63, value)));
    ck_assert(!set(&options, "--target-option", repeat('l', 64, "=")));
    char longer[67];
    (void)snprintf(longer, sizeof longer, "%sv", value);
    ck_assert(!set(&options, "--target-option", repeat('m', 63, longer)));
    ck_assert(!set(&options, "--target-option", repeat('k', 63, "=again")));
    for (unsigned i = 1; i < SETUP_OPTION_COUNT_MAX; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "number%u=1", i);
        give(&options, "--target-option", text);
    }
    ck_assert(!set(&options, "--target-option", "more=1"));
    SHOW(options.option_count);
}

static void show_merged(struct run_options *base, const struct run_options *over)
{
    SHOW(run_options_merge(base, over), base->option_count);
    GIVEN(base->chip, base->capacity_bytes, base->op_count_max, base->seed, base->has_seed,
          base->host_count, base->worker_count, base->lanes.argument, base->weights[OP_USE]);
    GIVEN(base->has_regret_max, base->regret_max);
    for (size_t i = 0; i < base->option_count && i < 3; i++) {
        SHOW(base->options[i].key, base->options[i].value);
    }
}

TEST(what_comes_over_replaces_what_it_gives_and_no_more)
{
    struct run_options base = {.chip = "v4", .op_count_max = 5, .seed = 1, .has_seed = true};
    /* A job file has no key for workers; the seed is 0. */
    struct run_options over = {.has_seed = true, .host_count = 3, .worker_count = 9};
    base.lanes = (struct lane_options){.argument = 7, .lane_count = 2};
    give(&base, "--target-option", "a=1");
    give(&base, "--target-option", "b=1");
    give(&over, "--target-option", "b=2");
    give(&over, "--target-option", "c=2");
    show_merged(&base, &over);
    /* A strategy comes with its argument; chip and capacity go together. */
    over = (struct run_options){
        .capacity_bytes = 4096, .seed = 2, .has_regret_max = true, .regret_max = 3};
    give(&over, "--strategy", "pct=4");
    give(&over, "--weights", "use:3");
    show_merged(&base, &over);
    SHOW(base.has_weights);
    over = (struct run_options){.chip = "v2"};
    show_merged(&base, &over);
    /* Sixteen options of the target at most. */
    for (unsigned i = 3; i < SETUP_OPTION_COUNT_MAX; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "number%u=1", i);
        give(&base, "--target-option", text);
    }
    over = (struct run_options){0};
    give(&over, "--target-option", "a=9");
    show_merged(&base, &over);
    give(&over, "--target-option", "new=9");
    show_merged(&base, &over);
}

static void show_setup(struct setup *setup, const struct run_options *options)
{
    ck_assert_int_eq(setup_override(setup, options), EXIT_KEPT);
    SHOW(setup->chip, setup->capacity_bytes, setup->target, setup->seed, setup->host_count,
         setup->granule_bytes);
    SHOW(setup->has_regret_max, setup->regret_max, setup->has_rounding, setup->rounding.steps,
         setup->checks_races, setup_option(setup, "b"));
}

TEST(a_setup_takes_what_the_options_fix)
{
    struct setup setup;
    struct run_options options = {.chip = "v4"};
    setup_init(&setup);
    setup.seed = 5;
    setup.host_count = 2;
    show_setup(&setup, &options);
    ck_assert_uint_eq(setup.capacity_bytes, chip_find("v4")->capacity_bytes);
    options = (struct run_options){.target = "null",
                                   .capacity_bytes = 1 << 20,
                                   .host_count = 3,
                                   .has_seed = true,
                                   .has_regret_max = true,
                                   .regret_max = 4,
                                   .has_rounding = true};
    options.rounding.steps = 6;
    give(&options, "--check-races", NULL);
    give(&options, "--target-option", "granule=1K");
    give(&options, "--target-option", "b=2");
    show_setup(&setup, &options);
}

TEST(faults_are_printed_as_they_are_read)
{
    static const char *const texts[] = {"all",       "copy",   "wait,retire", "copy,wait,unload",
                                        "copy,copy", " none\t"};
    char text[320];
    struct fault_options faults = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *complaint = op_options_parse_faults(texts[i], &faults);
        show("%s: %s '%s'\n", texts[i], complaint == NULL ? "" : complaint,
             op_options_print_faults(&faults, text, sizeof text));
    }
    SHOW(faults.kinds);
}

TEST(weights_that_are_not_named_stay)
{
    static const char *const texts[] = {"alloc:0, output:1\tuse:10000", "output:0",
                                        "alloc:0 output:0"};
    uint16_t weights[OP_KIND_COUNT] = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *complaint = op_options_parse_weights(texts[i], weights);
        show("%s: %s\n", texts[i], complaint == NULL ? "is taken" : complaint);
        SHOW(weights[OP_ALLOC], weights[OP_OUTPUT], weights[OP_USE], weights[OP_FREE]);
    }
}

TEST(rates_become_counts_that_are_rounded_down)
{
    /* clang-format off */
    static const struct {
        const char *text;
        uint64_t ooms;
    } rows[] = {
        {"plain:1/3", 8}, {"plain:1/3,aligned:1", 9}, {"held:0.25 plain:0", 7},
        {"aligned:25e-2", 8}, {"aligned:1E-3", 1999}, {"plain:1e0", 5},
        {"plain:0.99999999999999999", UINT64_MAX}, {"plain:0e-99", 5},
        {"plain:0.999999999999999999", 0}, {"plain:1234567890123456789", 0}, {"plain:3/2", 0},
        {"plain:1/0", 0}, {"plain:1e-20", 0}, {"plain:1e-1 plain:1e-1", 0}, {"plain", 0},
        {"plain1", 0}, {"plain:.1", 0}, {"plain:1e1", 0}, {"plain:1e", 0}, {"plain:1x", 0},
        {"", 0}, {" ,", 0}};
    /* clang-format on */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct allowance allowance = {.has_unknown_rate = 1, .unrepeated = 6};
        allowance.unknown_rates[0] = (struct rate){7, 9};
        const char *complaint = allowance_parse_rates(rows[i].text, allowance.unknown_rates);
        show("'%s' %s", rows[i].text, complaint == NULL ? "" : complaint);
        if (complaint == NULL) {
            const struct report_allowed allowed = allowance_of_run(&allowance, rows[i].ooms);
            SHOW(rows[i].ooms, allowed.unknown[OOM_PLAIN], allowed.unknown[OOM_ALIGNED],
                 allowed.unknown[OOM_HELD], allowed.has_unknown_rate, allowed.unrepeated);
        } else {
            show("\n");
            ck_assert_uint_eq(allowance.unknown_rates[0].part, 7);
        }
    }
}
