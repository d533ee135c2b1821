/* Options of lanes: the values that each takes, what contradicts itself, and the words for a search
 * and for its end. */
#include "campaign/plan/run_options.h"
#include "explore/strategies/strategies.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* As the row of that name does. */
static const char *set_lane_option(struct lane_options *wanted, const char *name, const char *value)
{
    struct run_options options = {.lanes = *wanted};
    const char *complaint = option_set(run_option_named(name), &options, value);
    *wanted = options.lanes;
    return complaint;
}

static void check_complaint(const char *name, const char *value, const char *wanted)
{
    struct lane_options options = {0};
    const struct lane_options before = options;
    const char *complaint = set_lane_option(&options, name, value);
    ck_assert_msg(complaint != NULL, "'%s' is accepted", value);
    ck_assert_str_eq(complaint, wanted);
    ck_assert_int_eq(memcmp(&options, &before, sizeof before), 0);
}

static struct lane_options set_strategy(const char *value)
{
    struct lane_options options = {0};
    const char *complaint = lane_options_set_strategy(&options, value);
    ck_assert_msg(complaint == NULL, "'%s' %s", value, complaint);
    return options;
}

TEST(two_to_sixteen_lanes_are_accepted)
{
    static const char *const wrong[] = {"1", "17", "", "x", "0"};
    struct lane_options options = {0};
    ck_assert_ptr_null(lane_options_set_lanes(&options, "2"));
    ck_assert_uint_eq(options.lane_count, 2);
    ck_assert_ptr_null(lane_options_set_lanes(&options, "16"));
    ck_assert_uint_eq(options.lane_count, 16);
    ck_assert(options.has_lanes);
    options = (struct lane_options){.lane_count = 3};
    ck_assert_ptr_null(lane_options_set_lanes(&options, "none"));
    ck_assert_uint_eq(options.lane_count, 0);
    ck_assert(options.has_lanes);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_complaint("--lanes", wrong[i], "is neither none nor a number from 2 to 16");
    }
}

TEST(a_strategy_is_a_name_with_the_argument_that_it_takes)
{
    static const struct {
        const char *value, *printed;
        uint64_t argument;
    } rows[] = {{"pct", "pct", 0},
                {"pct=1", "pct=1", 1},
                {"pct=32", "pct=32", 32},
                {"delay=1", "delay=1", 1},
                {"delay=64", "delay=64", 64},
                {"exhaustive=0", "exhaustive", 0},
                {"exhaustive=1000000", "exhaustive=1000000", 1000000},
                {"random", "random", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[LANE_STRATEGY_TEXT_BYTES];
        const struct lane_options options = set_strategy(rows[i].value);
        ck_assert_uint_eq(options.argument, rows[i].argument);
        ck_assert_str_eq(lane_strategy_print(&options, text), rows[i].printed);
    }
    check_complaint("--strategy", "pct=0", "does not give a depth from 1 to 32, as in pct=3");
    check_complaint("--strategy", "pct=33", "does not give a depth from 1 to 32, as in pct=3");
    check_complaint("--strategy", "delay=65",
                    "does not give a number of delays from 1 to 64, as in delay=3");
    check_complaint(
        "--strategy", "exhaustive=1000001",
        "does not give a bound on preemptions (0 = none) from 0 to 1000000, as in exhaustive=2");
    check_complaint("--strategy", "random=1", "has an argument, but strategy random accepts none");
    check_complaint("--strategy", "pctt", "is not a strategy; did you mean 'pct'?");
}

/* The one that repeats a list looks for nothing, and a name too long for any strategy is not cut to
 * one. */
TEST(an_unknown_strategy_is_told_which_there_are)
{
    static const char all[] = "is not a strategy; valid strategies: ";
    static const char *const names[] = {"quite_another", "pct_with_more_than_31_bytes_in_its_name"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct lane_options options = {0};
        const char *complaint = lane_options_set_strategy(&options, names[i]);
        ck_assert_int_eq(strncmp(complaint, all, strlen(all)), 0);
        for (size_t k = 0; strategies[k] != NULL; k++) {
            char listed[64];
            (void)snprintf(listed, sizeof listed, "%s%s", k == 0 ? ": " : ", ",
                           strategies[k]->name);
            ck_assert_msg((strstr(complaint, listed) != NULL) ==
                              lane_strategy_is_search(strategies[k]),
                          "%s in: %s", listed, complaint);
        }
    }
    struct lane_options options = {0};
    ck_assert_ptr_nonnull(lane_options_set_strategy(&options, "replay"));
}

TEST(backends_and_races_have_few_words)
{
    static const char *const names[] = {"auto", "threads", "fibers", "free"};
    struct lane_options options = {0};
    ck_assert_ptr_null(lane_options_backend(&options));
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_ptr_null(set_lane_option(&options, "--backend", names[i]));
        ck_assert_uint_eq(options.backend, i);
        ck_assert_str_eq(lane_options_backend(&options), names[i]);
    }
    check_complaint("--backend", "fiber", "is neither threads nor fibers nor free nor auto");
    check_complaint("--check-races", "maybe", "is neither yes nor no");
    ck_assert_ptr_null(set_lane_option(&options, "--check-races", "no"));
    ck_assert(options.has_races && !options.checks_races);
    ck_assert_ptr_null(set_lane_option(&options, "--check-races", "yes"));
    ck_assert(options.checks_races);
    options = (struct lane_options){0};
    ck_assert_ptr_null(set_lane_option(&options, "--check-races", NULL));
    ck_assert(options.has_races && options.checks_races);
}

TEST(the_first_option_that_says_how_lanes_run_is_named)
{
    struct lane_options options = {0};
    ck_assert_ptr_null(lane_options_how(&options));
    options.has_races = true;
    ck_assert_str_eq(lane_options_how(&options), "--check-races");
    options.has_backend = true;
    ck_assert_str_eq(lane_options_how(&options), "--backend");
    options.strategy = &strategy_pct;
    ck_assert_str_eq(lane_options_how(&options), "--strategy");
    options.has_schedules = true;
    ck_assert_str_eq(lane_options_how(&options), "--schedules");
}

TEST(options_that_contradict_each_other_are_refused)
{
    static const struct {
        struct lane_options options;
        const char *wrong;
    } rows[] = {
        {{.backend = LANE_BACKEND_FREE}, NULL},
        {{.backend = LANE_BACKEND_FIBERS, .strategy = &strategy_pct, .checks_races = true}, NULL},
        {{.backend = LANE_BACKEND_FREE, .strategy = &strategy_pct},
         "free-running lanes follow no strategy"},
        {{.backend = LANE_BACKEND_FREE, .checks_races = true},
         "free-running lanes cannot be checked against happens-before; use the thread sanitizer"},
        {{.has_schedules = true, .strategy = &strategy_exhaustive}, NULL},
        {{.has_schedules = true, .schedule_count = 1, .strategy = &strategy_pct}, NULL},
        {{.has_schedules = true, .strategy = &strategy_pct},
         "0 schedules means all of them, which only the strategy exhaustive can count"},
        {{.strategy = &strategy_pct}, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *wrong = lane_options_wrong(&rows[i].options);
        ck_assert_msg((wrong == NULL) == (rows[i].wrong == NULL), "row %zu", i);
        if (wrong != NULL) {
            ck_assert_str_eq(wrong, rows[i].wrong);
        }
    }
}

TEST(what_was_not_said_is_filled_in)
{
    struct setup setup;
    struct lane_options options = {.lane_count = 3};
    setup_init(&setup);
    struct lane_options whole = lane_options_completed(&options, &setup);
    ck_assert_uint_eq(whole.lane_count, 3);
    ck_assert_uint_eq(whole.schedule_count, LANE_SCHEDULE_COUNT_DEFAULT);
    ck_assert_ptr_eq(whole.strategy, strategies[0]);
    ck_assert_int_eq(whole.backend, LANE_BACKEND_FIBERS);
    strcpy(setup.target, "./plug_in.so");
    whole = lane_options_completed(&options, &setup);
    ck_assert_int_eq(whole.backend, LANE_BACKEND_THREADS);
    ck_assert_ptr_null(set_lane_option(&options, "--schedules", "0"));
    ck_assert_ptr_null(lane_options_set_strategy(&options, "exhaustive"));
    ck_assert_ptr_null(set_lane_option(&options, "--backend", "free"));
    whole = lane_options_completed(&options, &setup);
    ck_assert_uint_eq(whole.schedule_count, 0);
    ck_assert_ptr_eq(whole.strategy, &strategy_exhaustive);
    ck_assert_int_eq(whole.backend, LANE_BACKEND_FREE);
    check_complaint("--schedules", "many",
                    "is not a number (0 = all schedules, with the strategy exhaustive)");
}

TEST(a_search_does_what_the_options_say)
{
    static const struct {
        enum lane_backend backend;
        enum scheduler_backend scheduler;
        const char *word;
    } rows[] = {{LANE_BACKEND_THREADS, SCHEDULER_THREADS, "threads"},
                {LANE_BACKEND_FIBERS, SCHEDULER_FIBERS, "fibers"},
                {LANE_BACKEND_FREE, SCHEDULER_FIBERS, "free-running"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct lane_options options = {.lane_count = 3,
                                             .schedule_count = 9,
                                             .strategy = &strategy_delay,
                                             .argument = 4,
                                             .backend = rows[i].backend,
                                             .checks_races = i == 1};
        struct report_lanes report;
        const struct lanes_search search = lane_options_search(&options, 77);
        lane_options_report(&options, &report);
        ck_assert_ptr_eq(search.strategy, &strategy_delay);
        ck_assert_uint_eq(search.seed, 77);
        ck_assert_uint_eq(search.argument, 4);
        ck_assert_uint_eq(search.schedule_count_max, 9);
        ck_assert_int_eq(search.backend, rows[i].scheduler);
        ck_assert(search.goes_on);
        ck_assert_int_eq(search.checks_order, i == 1);
        ck_assert_int_eq(search.is_free_running, rows[i].backend == LANE_BACKEND_FREE);
        ck_assert_str_eq(report.backend, rows[i].word);
        ck_assert_str_eq(report.strategy, "delay=4");
        ck_assert_uint_eq(report.schedule_count, 9);
        ck_assert_uint_eq(report.lane_count, 3);
        ck_assert_int_eq(report.checks_races, i == 1);
    }
}

/* k is 2^16: k^3 and thrice that fit in 64 bits, and k^4 does not. */
TEST(the_end_of_a_search_says_what_is_known_then)
{
    static const struct {
        const struct strategy_kind *strategy;
        struct lanes_found found;
        const char *text;
    } rows[] = {
        {&strategy_random, {.schedule_count = 1}, "1 schedule"},
        {&strategy_random, {.schedule_count = 2, .interleavings = 9}, "2 schedules"},
        {&strategy_pct,
         {.schedule_count = 7,
          .probability = 1.0 / 48,
          .pct_depth = 3,
          .pct_participants = 3,
          .pct_decisions = 4},
         "pct: depth 3, n = 3, k = 4: a defect of that depth is found with probability at least "
         "1/48 per run; 7 schedules"},
        {&strategy_pct,
         {.schedule_count = 7,
          .probability = 0.2,
          .pct_depth = 1,
          .pct_participants = 5,
          .pct_decisions = 9},
         "pct: depth 1, n = 5, k = 9: a defect of that depth is found with probability at least "
         "1/5 per run; 7 schedules"},
        {&strategy_pct,
         {.schedule_count = 7,
          .probability = 0.25,
          .pct_depth = 5,
          .pct_participants = 3,
          .pct_decisions = 65536},
         "pct: depth 5, n = 3, k = 65536: a defect of that depth is found with probability at "
         "least 0.25 per run; 7 schedules"},
        {&strategy_exhaustive,
         {.schedule_count = 5, .interleavings = 4, .pruned = 1, .is_complete = true},
         "all 4 interleavings explored, 1 runs pruned"},
        {&strategy_exhaustive,
         {.schedule_count = 5, .interleavings = 4, .pruned = 1, .bound = 1, .is_complete = true},
         "all 4 interleavings explored (at most 1 preemption), 1 runs pruned"},
        {&strategy_exhaustive,
         {.interleavings = 4, .bound = 2},
         "4 interleavings explored (at most 2 preemptions), 0 runs pruned; there are more"},
        {&strategy_exhaustive,
         {.interleavings = 4, .diverged = true},
         "the same decisions gave another run the second time: the target is not deterministic; "
         "4 interleavings explored, 0 runs pruned; there are more"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct lane_options options = {.strategy = rows[i].strategy};
        struct writing text;
        writing_init(&text);
        lane_options_conclude(&options, &rows[i].found, &text);
        ck_assert_str_eq(text.bytes, rows[i].text);
        writing_deinit(&text);
    }
}
