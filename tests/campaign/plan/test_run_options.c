/* The options of a run: the least and the most that each takes, what is beyond, and which of two
 * values counts. */
#include "campaign/plan/lookup.h"
#include "campaign/plan/run_options.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* NULL: it was taken. */
static const char *set_option(struct run_options *options, const char *name, const char *value)
{
    const struct option_row *row = run_option_named(name);
    ck_assert_msg(row != NULL, "there is no %s", name);
    return option_set(row, options, value);
}

TEST(numbers_are_taken_up_to_their_bounds)
{
#define AT(member) offsetof(struct run_options, member)
    static const struct {
        const char *name;
        size_t offset;
        const char *value;
        uint64_t number;
        const char *beyond;
    } rows[] = {
        {"--hosts", AT(host_count), "1", 1, "0"},
        {"--hosts", AT(host_count), "64", 64, "65"},
        {"--workers", AT(worker_count), "1", 1, "0"},
        {"--workers", AT(worker_count), "256", 256, "257"},
        {"--seed", AT(seed), "0", 0, "-1"},
        {"--seed", AT(seed), "18446744073709551615", UINT64_MAX, "18446744073709551616"},
        {"--ops", AT(op_count_max), "1", 1, "0"},
        {"--ops", AT(op_count_max), "18446744073709551614", UINT64_MAX - 1, "18446744073709551615"},
        {"--seeds", AT(trial_count_max), "1", 1, "0"},
        {"--seeds", AT(trial_count_max), "18446744073709551614", UINT64_MAX - 1,
         "18446744073709551615"},
        {"--capacity", AT(capacity_bytes), "1", 1, "0"},
        {"--capacity", AT(capacity_bytes), "1024T", UINT64_C(1) << 50, "1025T"},
        {"--time", AT(duration_ns), "1s", 1000000000, "0s"},
        {"--trial-timeout", AT(trial_timeout_ns), "2s", 2000000000, "0"},
        {"--op-timeout", AT(op_timeout_ns), "3s", 3000000000, "x"},
        {"--replay-sample", AT(replay_sample), "0", 0, "x"},
        {"--replay-sample", AT(replay_sample), "18446744073709551615", UINT64_MAX, ""},
        {"--shrink-budget", AT(shrink_budget), "0", 0, "x"},
        {"--shrink-budget", AT(shrink_budget), "18446744073709551615", UINT64_MAX, ""},
        {"--results-limit", AT(results_limit_bytes), "0", 0, "x"},
        {"--results-limit", AT(results_limit_bytes), "2M", 2 << 20, "-1"},
        {"--keep", AT(keep_count), "0", 0, "-1"},
        {"--keep", AT(keep_count), "18446744073709551615", UINT64_MAX, "x"},
        {"--regret-max", AT(regret_max), "0", 0, "-1"},
        {"--regret-max", AT(regret_max), "18446744073709551615", UINT64_MAX, "x"},
        {"--allow-unrepeated", AT(unrepeated_max), "0", 0, "-1"},
        {"--allow-unrepeated", AT(unrepeated_max), "18446744073709551615", UINT64_MAX, "x"},
        {"--lanes", AT(lanes.lane_count), "2", 2, "1"},
        {"--schedules", AT(lanes.schedule_count), "0", 0, "x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run_options options;
        uint64_t number;
        run_options_init(&options);
        const char *complaint = set_option(&options, rows[i].name, rows[i].value);
        ck_assert_msg(complaint == NULL, "%s %s %s", rows[i].name, rows[i].value, complaint);
        memcpy(&number, (const char *)&options + rows[i].offset, sizeof number);
        ck_assert_uint_eq(number, rows[i].number);
        ck_assert_msg(set_option(&options, rows[i].name, rows[i].beyond) != NULL, "%s takes '%s'",
                      rows[i].name, rows[i].beyond);
    }
}

TEST(what_is_not_given_has_its_default)
{
    struct run_options options;
    run_options_init(&options);
    ck_assert_uint_eq(options.replay_sample, 32);
    ck_assert_uint_eq(options.shrink_budget, 20000);
    ck_assert_uint_eq(options.results_limit_bytes, 64 << 20);
    ck_assert_uint_eq(options.trial_timeout_ns, UINT64_C(600000000000));
    ck_assert_uint_eq(options.op_timeout_ns, UINT64_C(20000000000));
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

TEST(shards_are_counted_from_one)
{
    static const char *const wrong[] = {"0/3", "4/3", "1/0", "3", "/3", "1/", "1/1000001", "a/2"};
    struct run_options options = {0};
    ck_assert_ptr_null(set_option(&options, "--shard", "1/1"));
    ck_assert_uint_eq(options.shard_index, 0);
    ck_assert_uint_eq(options.shard_count, 1);
    ck_assert_ptr_null(set_option(&options, "--shard", "1000000/1000000"));
    ck_assert_uint_eq(options.shard_index, 999999);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(set_option(&options, "--shard", wrong[i]) != NULL, "%s", wrong[i]);
    }
    ck_assert_uint_eq(options.shard_count, 1000000);
}

TEST(annotations_have_two_forms)
{
    static const char *const wrong[] = {"GitHub", "", "none", "git"};
    struct run_options options = {0};
    ck_assert_ptr_null(set_option(&options, "--annotate", "github"));
    ck_assert_int_eq(options.annotation, ANNOTATION_GITHUB);
    ck_assert_ptr_null(set_option(&options, "--annotate", "gitlab"));
    ck_assert_int_eq(options.annotation, ANNOTATION_GITLAB);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_str_eq(set_option(&options, "--annotate", wrong[i]), "is not github or gitlab");
    }
}

TEST(an_option_of_the_target_is_a_key_and_a_value)
{
    char text[160];
    struct run_options options = {0};
    ck_assert_ptr_null(set_option(&options, "--target-option", "a=b=c"));
    ck_assert_str_eq(options.options[0].key, "a");
    ck_assert_str_eq(options.options[0].value, "b=c");
    ck_assert_str_eq(set_option(&options, "--target-option", "=b"), "is not KEY=VALUE");
    ck_assert_str_eq(set_option(&options, "--target-option", "a=x"),
                     "sets a key that was set before");
    /* 63 bytes of a key and of a value, and one more of each. */
    memset(text, 'k', sizeof text);
    text[63] = '=';
    text[64 + 63] = '\0';
    ck_assert_ptr_null(set_option(&options, "--target-option", text));
    text[64 + 63] = 'v';
    text[64 + 64] = '\0';
    ck_assert_ptr_nonnull(set_option(&options, "--target-option", text));
    memset(text, 'm', 64);
    text[64] = '=';
    text[65] = '\0';
    ck_assert_ptr_nonnull(set_option(&options, "--target-option", text));
    for (unsigned i = 2; i < SETUP_OPTION_COUNT_MAX; i++) {
        (void)snprintf(text, sizeof text, "number%u=1", i);
        ck_assert_ptr_null(set_option(&options, "--target-option", text));
    }
    ck_assert_str_eq(set_option(&options, "--target-option", "more=1"),
                     "is one option too many (16 at most)");
    ck_assert_uint_eq(options.option_count, SETUP_OPTION_COUNT_MAX);
}

TEST(texts_are_not_empty_and_a_target_is_no_longer_than_a_setup_holds)
{
    static const char *const names[] = {"--target", "--chip", "--job", "--out", "--baseline"};
    char name[SETUP_VALUE_BYTES + 1];
    struct run_options options = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_str_eq(set_option(&options, names[i], ""), "is empty");
        ck_assert_ptr_null(set_option(&options, names[i], "x"));
    }
    ck_assert(options.target != NULL && options.chip != NULL && options.job != NULL &&
              options.out != NULL && options.baseline != NULL);
    memset(name, 'x', sizeof name);
    name[SETUP_VALUE_BYTES] = '\0';
    ck_assert_str_eq(set_option(&options, "--target", name), "is longer than 255 bytes");
    name[SETUP_VALUE_BYTES - 1] = '\0';
    ck_assert_ptr_null(set_option(&options, "--target", name));
}

TEST(what_comes_over_replaces_what_it_gives_and_no_more)
{
    struct run_options base = {.chip = "v4", .op_count_max = 5, .seed = 1, .has_seed = true};
    struct run_options over = {.has_seed = true, .host_count = 3, .worker_count = 9};
    base.lanes = (struct lane_options){.argument = 7, .lane_count = 2};
    ck_assert_ptr_null(set_option(&base, "--target-option", "a=1"));
    ck_assert_ptr_null(set_option(&base, "--target-option", "b=1"));
    ck_assert_ptr_null(set_option(&over, "--target-option", "b=2"));
    ck_assert_ptr_null(set_option(&over, "--target-option", "c=2"));
    ck_assert(run_options_merge(&base, &over));
    ck_assert_str_eq(base.chip, "v4");
    ck_assert_uint_eq(base.op_count_max, 5);
    ck_assert_uint_eq(base.seed, 0); /* it was given */
    ck_assert(base.has_seed);
    ck_assert_uint_eq(base.host_count, 3);
    ck_assert_uint_eq(base.worker_count, 0); /* a job file has no such key */
    ck_assert_uint_eq(base.option_count, 3);
    ck_assert_str_eq(base.options[0].value, "1");
    ck_assert_str_eq(base.options[1].value, "2");
    ck_assert_str_eq(base.options[2].key, "c");
    ck_assert_uint_eq(base.lanes.argument, 7);
    /* A strategy comes with its argument; chip and capacity go together. */
    over = (struct run_options){.capacity_bytes = 4096};
    ck_assert_ptr_null(set_option(&over, "--strategy", "pct=4"));
    ck_assert_ptr_null(set_option(&over, "--weights", "use:3"));
    ck_assert(run_options_merge(&base, &over));
    ck_assert_ptr_null(base.chip);
    ck_assert_uint_eq(base.capacity_bytes, 4096);
    ck_assert_uint_eq(base.lanes.argument, 4);
    ck_assert(base.has_weights);
    ck_assert_uint_eq(base.weights[OP_USE], 3);
    over = (struct run_options){.chip = "v2"};
    ck_assert(run_options_merge(&base, &over));
    ck_assert_str_eq(base.chip, "v2");
    ck_assert_uint_eq(base.capacity_bytes, 0);
    /* Sixteen options of the target at most. */
    for (unsigned i = 3; i < SETUP_OPTION_COUNT_MAX; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "number%u=1", i);
        ck_assert_ptr_null(set_option(&base, "--target-option", text));
    }
    over = (struct run_options){0};
    ck_assert_ptr_null(set_option(&over, "--target-option", "a=9"));
    ck_assert(run_options_merge(&base, &over));
    ck_assert_ptr_null(set_option(&over, "--target-option", "new=9"));
    ck_assert(!run_options_merge(&base, &over));
    ck_assert_str_eq(base.options[0].value, "9");
}

TEST(a_setup_takes_what_the_options_fix)
{
    struct setup setup;
    struct run_options options = {.chip = "v4"};
    setup_init(&setup);
    setup.seed = 5;
    setup.host_count = 2;
    ck_assert_int_eq(setup_override(&setup, &options), EXIT_KEPT);
    ck_assert_str_eq(setup.chip, "v4");
    ck_assert_uint_eq(setup.capacity_bytes, chip_find("v4")->capacity_bytes);
    ck_assert_str_eq(setup.target, "hbm");
    ck_assert_uint_eq(setup.seed, 5);
    ck_assert_uint_eq(setup.host_count, 2);
    ck_assert(!setup.has_regret_max && !setup.has_rounding && !setup.checks_races);
    options = (struct run_options){.target = "null",
                                   .capacity_bytes = 1 << 20,
                                   .host_count = 3,
                                   .has_seed = true,
                                   .has_regret_max = true,
                                   .regret_max = 4,
                                   .has_rounding = true};
    options.rounding.steps = 6;
    ck_assert_ptr_null(set_option(&options, "--check-races", NULL));
    ck_assert_ptr_null(set_option(&options, "--target-option", "granule=1K"));
    ck_assert_ptr_null(set_option(&options, "--target-option", "b=2"));
    ck_assert_int_eq(setup_override(&setup, &options), EXIT_KEPT);
    ck_assert_str_eq(setup.chip, "");
    ck_assert_uint_eq(setup.capacity_bytes, 1 << 20);
    ck_assert_str_eq(setup.target, "null");
    ck_assert_uint_eq(setup.seed, 0);
    ck_assert_uint_eq(setup.host_count, 3);
    ck_assert(setup.has_regret_max && setup.has_rounding && setup.checks_races);
    ck_assert_uint_eq(setup.regret_max, 4);
    ck_assert_uint_eq(setup.rounding.steps, 6);
    ck_assert_uint_eq(setup.granule_bytes, 1024);
    ck_assert_str_eq(setup_option(&setup, "b"), "2");
}

TEST(faults_are_printed_as_they_are_read)
{
    static const char *const texts[] = {"all", "copy", "wait,retire", "copy,wait,unload"};
    char text[320];
    struct fault_options faults = {0};
    ck_assert_str_eq(op_options_print_faults(&faults, text, sizeof text), "");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert_ptr_null(op_options_parse_faults(texts[i], &faults));
        ck_assert_str_eq(op_options_print_faults(&faults, text, sizeof text), texts[i]);
    }
    ck_assert_ptr_nonnull(op_options_parse_faults("copy,copy", &faults));
    ck_assert_str_eq(op_options_print_faults(&faults, text, sizeof text), texts[3]);
    ck_assert_ptr_null(op_options_parse_faults(" none\t", &faults));
    ck_assert_uint_eq(faults.kinds, 0);
}

TEST(weights_that_are_not_named_stay)
{
    uint16_t weights[OP_KIND_COUNT] = {0};
    ck_assert_ptr_null(op_options_parse_weights("alloc:0, output:1\tuse:10000", weights));
    ck_assert_uint_eq(weights[OP_ALLOC], 0);
    ck_assert_uint_eq(weights[OP_OUTPUT], 1);
    ck_assert_uint_eq(weights[OP_USE], 10000);
    ck_assert_uint_eq(weights[OP_FREE], 100);
    ck_assert_ptr_null(op_options_parse_weights("output:0", weights));
    ck_assert_uint_eq(weights[OP_USE], 100);
    ck_assert_ptr_nonnull(op_options_parse_weights("alloc:0 output:0", weights));
    ck_assert_uint_eq(weights[OP_ALLOC], 100);
}

TEST(rates_become_counts_that_are_rounded_down)
{
    static const struct {
        const char *text;
        uint64_t ooms, plain, aligned, held;
    } rows[] = {
        {"plain:1/3", 8, 2, 0, 0},
        {"plain:1/3,aligned:1", 9, 3, 9, 0},
        {"held:0.25 plain:0", 7, 0, 0, 1},
        {"aligned:25e-2", 8, 0, 2, 0},
        {"aligned:1E-3", 1999, 0, 1, 0},
        {"plain:1e0", 5, 5, 0, 0},
        {"plain:0.99999999999999999", UINT64_MAX, UINT64_C(18446744073709551430), 0, 0},
        {"plain:0e-99", 5, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct allowance allowance = {.has_unknown_rate = 1, .unrepeated = 6};
        ck_assert_ptr_null(allowance_parse_rates(rows[i].text, allowance.unknown_rates));
        const struct report_allowed allowed = allowance_of_run(&allowance, rows[i].ooms);
        ck_assert_msg(allowed.unknown[OOM_PLAIN] == rows[i].plain, "%s: %llu", rows[i].text,
                      (unsigned long long)allowed.unknown[OOM_PLAIN]);
        ck_assert_uint_eq(allowed.unknown[OOM_ALIGNED], rows[i].aligned);
        ck_assert_uint_eq(allowed.unknown[OOM_HELD], rows[i].held);
        ck_assert(allowed.has_unknown_rate);
        ck_assert_uint_eq(allowed.unrepeated, 6);
    }
    static const char *const wrong[] = {"plain:0.999999999999999999",
                                        "plain:1234567890123456789",
                                        "plain:3/2",
                                        "plain:1/0",
                                        "plain:1e-20",
                                        "plain:1e-1 plain:1e-1",
                                        "plain",
                                        "plain1",
                                        "plain:.1",
                                        "plain:1e1",
                                        "plain:1e",
                                        "plain:1x",
                                        "",
                                        " ,"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rate rates[OOM_CLASS_COUNT] = {{7, 9}};
        ck_assert_msg(allowance_parse_rates(wrong[i], rates) != NULL, "%s", wrong[i]);
        ck_assert_uint_eq(rates[0].part, 7);
    }
}
