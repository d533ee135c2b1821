/* A schedule is repeated exactly, and what cannot be repeated is counted. */
#include "explore/strategies/strategies.h"
#include "tests/helpers/simulated_lanes.h"
#include "tests/helpers/suite.h"

#include <check.h>

static const uint64_t three_events[] = {7, 8, 9};
static const struct footprint any[LANE_COUNT_MAX];

EVERY_TEST(.teardown = states_destroy);

TEST(replay_repeats_a_random_run, .to = 2)
{
    const struct simulated_program *program = _i == 0 ? &simulated_plain : &simulated_with_events;
    void *random = state_create(&strategy_random, 21, 0),
         *replay = state_create(&strategy_replay, 0, 0);
    struct simulated_state last = {.program = program}, repeated_last = {.program = program};
    struct simulated_record record, repeated;
    uint32_t switch_count = 0;
    for (uint64_t run = 0; run < 500; run++) {
        simulated_run(&strategy_random, random, run, &last, &record);
        strategy_replay_set(replay, record.switches, record.switch_count);
        for (uint32_t again = 0; again < 2; again++) {
            simulated_run(&strategy_replay, replay, again, &repeated_last, &repeated);
            check_same_record(&record, &repeated);
            ck_assert_uint_eq(last.action_count, repeated_last.action_count);
            ck_assert_mem_eq(last.actions, repeated_last.actions, last.action_count);
            ck_assert_uint_eq(strategy_replay_dropped(replay), 0);
        }
        switch_count += record.switch_count;
    }
    ck_assert_uint_gt(switch_count, 2000);
}

TEST(replay_without_switches_is_the_default)
{
    void *replay = state_create(&strategy_replay, 0, 0);
    struct simulated_state last = {.program = &simulated_with_events};
    struct simulated_record record;
    simulated_run(&strategy_replay, replay, 0, &last, &record);
    ck_assert_uint_gt(record.decision_count, 0);
    ck_assert_uint_eq(record.deviation_count, 0);
}

TEST(replay_drops_and_counts_what_cannot_go_on)
{
    const struct schedule_switch switches[] = {
        {.lane = 1, .op = 4, .number = 2, .to = 3},                       /* ended */
        {.lane = 1, .op = 4, .number = 2, .completes = true, .event = 6}, /* completed */
        {.lane = 1, .op = 4, .number = 2, .completes = true, .event = 8},
        {.lane = 1, .op = 4, .number = 2, .to = 200}, /* no lane ever */
        {.lane = 1, .op = 4, .number = 2, .to = 2},
        {.lane = 1, .op = 5, .number = 2, .to = 0},
    };
    const struct choice choice = {.at = {.lane = 1, .op = 4, .number = 2},
                                  .lanes = 7,
                                  .event_count = 3,
                                  .events = three_events,
                                  .next = any};
    void *replay = state_create(&strategy_replay, 0, 0);
    strategy_replay_set(replay, switches, sizeof switches / sizeof switches[0]);
    for (uint64_t run = 0; run < 2; run++) {
        strategy_replay.begin(replay, run);
        const struct decision first = strategy_replay.choose(replay, &choice);
        ck_assert(first.completes && first.event == 8);
        ck_assert_uint_eq(strategy_replay_dropped(replay), 2);
        ck_assert_uint_eq(strategy_replay.choose(replay, &choice).lane, 2);
        ck_assert_uint_eq(strategy_replay_dropped(replay), 3);
        ck_assert_uint_eq(strategy_replay.choose(replay, &choice).lane, 1);
        ck_assert_uint_eq(strategy_replay_dropped(replay), 3);
    }
}

TEST(a_switch_awaits_the_completion_that_opens_its_lane)
{
    const struct schedule_switch opened = {.lane = 1, .op = 4, .number = 2, .to = 2};
    struct choice choice = {.at = {.lane = 1, .op = 4, .number = 2},
                            .event_count = 3,
                            .events = three_events,
                            .next = any};
    void *replay = state_create(&strategy_replay, 0, 0);
    strategy_replay_set(replay, &opened, 1);
    strategy_replay.begin(replay, 0);
    const struct decision completion = strategy_replay.choose(replay, &choice);
    ck_assert(completion.completes && completion.event == 7);
    choice.lanes = 6;
    ck_assert_uint_eq(strategy_replay.choose(replay, &choice).lane, 2);
    ck_assert_uint_eq(strategy_replay_dropped(replay), 0);
}
