/* The strategy that bytes make: what they decide, and that every schedule is within their reach. */
#include "fuzz/lane_player.h"
#include "tests/helpers/simulated_lanes.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static const uint64_t three_events[] = {7, 8, 9};
static const struct footprint any[LANE_COUNT_MAX];
/* Lanes 0, 2 and 31, three events, and time-outs of lanes 4 and 5; lane 2 ran until now. */
static const struct choice eight_ways = {.at = {.lane = 2},
                                         .lanes = UINT64_C(1) | UINT64_C(1) << 2 |
                                                  UINT64_C(1) << 31,
                                         .sleepers = UINT64_C(3) << 4,
                                         .event_count = 3,
                                         .events = three_events,
                                         .next = any};
enum { WAY_COUNT = 8 };

static struct decision decision_of(uint8_t byte, const struct choice *choice)
{
    struct choices choices;
    choices_set(&choices, &byte, 1);
    strategy_choices.begin(&choices, 0);
    return strategy_choices.choose(&choices, choice);
}

/* A number for each of the ways, WAY_COUNT for what is none. */
static uint32_t way_of(const struct decision *decision)
{
    static const struct decision ways[WAY_COUNT] = {{.lane = 0},
                                                    {.lane = 2},
                                                    {.lane = 31},
                                                    {.lane = 4},
                                                    {.lane = 5},
                                                    {.completes = true, .event = 7},
                                                    {.completes = true, .event = 8},
                                                    {.completes = true, .event = 9}};
    uint32_t way = 0;
    while (way < WAY_COUNT && !decision_equal(&ways[way], decision)) {
        way++;
    }
    return way;
}

TEST(each_thing_that_can_happen_is_some_bytes_and_nothing_else_is)
{
    uint32_t counts[WAY_COUNT + 1] = {0};
    for (uint32_t byte = 0; byte <= UINT8_MAX; byte++) {
        const struct decision decision = decision_of((uint8_t)byte, &eight_ways);
        counts[way_of(&decision)]++;
    }
    for (uint32_t way = 0; way < WAY_COUNT; way++) {
        ck_assert_uint_eq(counts[way], 256 / WAY_COUNT);
    }
    ck_assert_uint_eq(counts[WAY_COUNT], 0);
}

TEST(byte_0_is_the_default_wherever_the_lane_stands)
{
    for (uint8_t lane = 0; lane < 6; lane++) {
        struct choice choice = eight_ways;
        choice.at.lane = lane;
        const struct decision decision = decision_of(0, &choice),
                              wrapped = decision_of(WAY_COUNT, &choice);
        const struct decision otherwise = decision_default(&choice);
        ck_assert(decision_equal(&decision, &otherwise));
        ck_assert(decision_equal(&wrapped, &otherwise));
    }
}

TEST(time_outs_alone_can_be_chosen_among)
{
    const struct choice choice = {.sleepers = UINT64_C(5), .next = any};
    ck_assert_uint_eq(decision_of(0, &choice).lane, 2);
    ck_assert_uint_eq(decision_of(1, &choice).lane, 0);
}

TEST(where_bytes_have_run_out_the_default_is_taken)
{
    const uint8_t bytes[] = {1};
    struct choices choices;
    choices_set(&choices, bytes, sizeof bytes);
    strategy_choices.begin(&choices, 0);
    const struct decision otherwise = decision_default(&eight_ways);
    struct decision decision = strategy_choices.choose(&choices, &eight_ways);
    ck_assert(!decision_equal(&decision, &otherwise));
    for (uint32_t i = 0; i < 3; i++) {
        decision = strategy_choices.choose(&choices, &eight_ways);
        ck_assert(decision_equal(&decision, &otherwise));
    }
}

TEST(a_decision_with_one_possibility_takes_no_byte)
{
    const uint8_t bytes[] = {1};
    const struct choice alone = {.lanes = 2, .next = any};
    struct choices choices;
    choices_set(&choices, bytes, sizeof bytes);
    strategy_choices.begin(&choices, 0);
    ck_assert_uint_eq(strategy_choices.choose(&choices, &alone).lane, 1);
    ck_assert_uint_eq(choices.used, 0);
    (void)strategy_choices.choose(&choices, &eight_ways);
    ck_assert_uint_eq(choices.used, 1);
}

/* --- whole runs --- */

static void run_with(const struct simulated_program *program, const uint8_t *bytes, size_t count,
                     struct simulated_record *record)
{
    struct choices choices;
    struct simulated_state last = {.program = program};
    strategy_choices.init(&choices, 1, 0);
    choices_set(&choices, bytes, count);
    ck_assert(simulated_run(&strategy_choices, &choices, 0, &last, record));
}

TEST(the_same_bytes_take_the_same_decisions_and_others_take_others, .to = 2)
{
    static const struct simulated_program *const programs[] = {&simulated_plain,
                                                               &simulated_with_events};
    const uint8_t bytes[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    uint8_t others[sizeof bytes];
    struct simulated_record record, again, other;
    memcpy(others, bytes, sizeof bytes);
    others[2]++;
    run_with(programs[_i], bytes, sizeof bytes, &record);
    run_with(programs[_i], bytes, sizeof bytes, &again);
    run_with(programs[_i], others, sizeof others, &other);
    check_same_record(&record, &again);
    ck_assert_uint_gt(record.deviation_count, 0);
    ck_assert(!decision_equal(&record.decisions[2], &other.decisions[2]));
}

TEST(the_next_run_begins_with_the_first_byte_again)
{
    const uint8_t bytes[] = {1, 2, 1, 2, 1, 2};
    struct choices choices;
    struct simulated_state last = {.program = &simulated_plain};
    struct simulated_record record, again;
    choices_set(&choices, bytes, sizeof bytes);
    simulated_run(&strategy_choices, &choices, 0, &last, &record);
    simulated_run(&strategy_choices, &choices, 1, &last, &again);
    check_same_record(&record, &again);
}

TEST(no_bytes_are_the_default_schedule)
{
    struct simulated_record record;
    run_with(&simulated_with_events, NULL, 0, &record);
    ck_assert_uint_eq(record.deviation_count, 0);
    ck_assert_uint_gt(record.decision_count, 0);
}
