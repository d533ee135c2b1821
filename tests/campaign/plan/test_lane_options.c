/* Options of lanes beside each other: what contradicts itself, what is filled in, and the words for
 * a search and for its end.  test_run_options.c has the values that each takes. */
#include "campaign/plan/run_options.h"
#include "explore/strategies/strategies.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

EVERY_TEST(.teardown = snap_rest);

TEST(a_backend_has_its_word)
{
    for (enum lane_backend i = LANE_BACKEND_AUTO; i <= LANE_BACKEND_FREE; i++) {
        const struct lane_options options = {.backend = i, .has_backend = true};
        SHOW(lane_options_backend(&options));
    }
    SHOW(lane_options_backend(&(struct lane_options){0}));
}

TEST(the_first_option_that_says_how_lanes_run_is_named)
{
    struct lane_options options = {0};
    SHOW(lane_options_how(&options));
    options.has_races = true;
    SHOW(lane_options_how(&options));
    options.has_backend = true;
    SHOW(lane_options_how(&options));
    options.strategy = &strategy_pct;
    SHOW(lane_options_how(&options));
    options.has_schedules = true;
    SHOW(lane_options_how(&options));
}

TEST(options_that_contradict_each_other_are_refused)
{
    static const struct lane_options rows[] = {
        {.backend = LANE_BACKEND_FREE},
        {.backend = LANE_BACKEND_FIBERS, .strategy = &strategy_pct, .checks_races = true},
        {.backend = LANE_BACKEND_FREE, .strategy = &strategy_pct},
        {.backend = LANE_BACKEND_FREE, .checks_races = true},
        {.has_schedules = true, .strategy = &strategy_exhaustive},
        {.has_schedules = true, .schedule_count = 1, .strategy = &strategy_pct},
        {.has_schedules = true, .strategy = &strategy_pct},
        {.strategy = &strategy_pct},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SHOW(lane_options_wrong(&rows[i]));
    }
}

static void show_completed(const struct lane_options *options, const struct setup *setup)
{
    const struct lane_options whole = lane_options_completed(options, setup);
    SHOW(whole.lane_count, whole.schedule_count, whole.strategy->name, lane_options_backend(&whole),
         whole.backend);
}

TEST(what_was_not_said_is_filled_in)
{
    struct setup setup;
    struct lane_options options = {.lane_count = 3};
    setup_init(&setup);
    show_completed(&options, &setup);
    strcpy(setup.target, "./plug_in.so");
    show_completed(&options, &setup);
    options = (struct lane_options){.lane_count = 3,
                                    .has_schedules = true,
                                    .strategy = &strategy_exhaustive,
                                    .backend = LANE_BACKEND_FREE};
    show_completed(&options, &setup);
}

TEST(a_search_does_what_the_options_say)
{
    static const enum lane_backend backends[] = {LANE_BACKEND_THREADS, LANE_BACKEND_FIBERS,
                                                 LANE_BACKEND_FREE};
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        const struct lane_options options = {.lane_count = 3,
                                             .schedule_count = 9,
                                             .strategy = &strategy_delay,
                                             .argument = 4,
                                             .backend = backends[i],
                                             .checks_races = i == 1};
        struct report_lanes report;
        const struct lanes_search search = lane_options_search(&options, 77);
        lane_options_report(&options, &report);
        SHOW(search.strategy->name, search.seed, search.argument, search.schedule_count_max);
        SHOW(search.backend == SCHEDULER_THREADS, search.goes_on, search.checks_order,
             search.is_free_running);
        SHOW(report.backend, report.strategy, report.schedule_count, report.lane_count,
             report.checks_races);
    }
}

/* k is 2^16: k^3 and thrice that fit in 64 bits, and k^4 does not. */
TEST(the_end_of_a_search_says_what_is_known_then)
{
    static const struct lanes_found pct = {.schedule_count = 7, .pct_participants = 3};
    struct lanes_found deep = pct, wide = pct, long_one = pct;
    deep.probability = 1.0 / 48;
    deep.pct_depth = 3;
    deep.pct_decisions = 4;
    wide.probability = 0.2;
    wide.pct_depth = 1;
    wide.pct_participants = 5;
    wide.pct_decisions = 9;
    long_one.probability = 0.25;
    long_one.pct_depth = 5;
    long_one.pct_decisions = 65536;
    const struct {
        const struct strategy_kind *strategy;
        struct lanes_found found;
    } rows[] = {
        {&strategy_random, {.schedule_count = 1}},
        {&strategy_random, {.schedule_count = 2, .interleavings = 9}},
        {&strategy_pct, deep},
        {&strategy_pct, wide},
        {&strategy_pct, long_one},
        {&strategy_exhaustive, {.interleavings = 4, .pruned = 1, .is_complete = true}},
        {&strategy_exhaustive, {.interleavings = 4, .pruned = 1, .bound = 1, .is_complete = true}},
        {&strategy_exhaustive, {.interleavings = 4, .bound = 2}},
        {&strategy_exhaustive, {.interleavings = 4, .diverged = true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct lane_options options = {.strategy = rows[i].strategy};
        struct writing text;
        writing_init(&text);
        lane_options_conclude(&options, &rows[i].found, &text);
        show("%s\n", text.bytes);
        writing_deinit(&text);
    }
}
