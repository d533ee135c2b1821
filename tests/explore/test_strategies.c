/* The promises of the strategies, on simulated lanes. */
#include "tests/helpers/simulated_lanes.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define T(object)               \
    {                           \
        SIMULATED_TOUCH, object \
    }
#define YIELD              \
    {                      \
        SIMULATED_YIELD, 0 \
    }

static bool same_record(const struct simulated_record *a, const struct simulated_record *b)
{
    bool is_same = a->decision_count == b->decision_count;
    for (uint32_t i = 0; is_same && i < a->decision_count; i++) {
        is_same = decision_equal(&a->decisions[i], &b->decisions[i]);
    }
    return is_same;
}

/* --- the table --- */

EVERY_TEST(.teardown = states_destroy);

TEST(each_strategy_is_found_by_its_name_and_has_what_it_needs)
{
    size_t count = 0;
    for (; strategies[count] != NULL; count++) {
        const struct strategy_kind *kind = strategies[count];
        ck_assert_ptr_eq(strategy_find(kind->name), kind);
        ck_assert_uint_gt(kind->state_bytes, 0);
        ck_assert_int_eq(kind->summary[strlen(kind->summary) - 1], '.');
        ck_assert(kind->init != NULL && kind->begin != NULL && kind->choose != NULL &&
                  kind->end != NULL);
    }
    ck_assert_uint_eq(count, 7);
    ck_assert_str_eq(strategies[0]->name, "portfolio");
    ck_assert_ptr_null(strategy_find("chess"));
}

enum { KIND_COUNT = 7, REPEATED_RUN_COUNT = 40 };

TEST(the_same_seed_takes_the_same_decisions, .to = 2 * KIND_COUNT)
{
    const struct strategy_kind *kind = strategies[_i % KIND_COUNT];
    const struct simulated_program *program = _i < KIND_COUNT ? &simulated_plain
                                                              : &simulated_with_events;
    void *state = state_create(kind, 11, 0), *again = state_create(kind, 11, 0);
    struct simulated_state last = {.program = program};
    struct simulated_record record, repeated;
    for (uint64_t run = 0; run < REPEATED_RUN_COUNT; run++) {
        const bool is_more = simulated_run(kind, state, run, &last, &record);
        ck_assert(simulated_run(kind, again, run, &last, &repeated) == is_more);
        ck_assert_uint_gt(record.decision_count, 0);
        check_same_record(&record, &repeated);
    }
}

TEST(another_seed_takes_other_decisions, .to = 3)
{
    static const struct strategy_kind *const kinds[] = {&strategy_random, &strategy_pct,
                                                        &strategy_delay};
    void *state = state_create(kinds[_i], 11, 0), *other = state_create(kinds[_i], 12, 0);
    struct simulated_state last = {.program = &simulated_plain};
    struct simulated_record record, of_other;
    uint32_t same_count = 0;
    for (uint64_t run = 0; run < REPEATED_RUN_COUNT; run++) {
        simulated_run(kinds[_i], state, run, &last, &record);
        simulated_run(kinds[_i], other, run, &last, &of_other);
        same_count += same_record(&record, &of_other);
    }
    ck_assert_uint_lt(same_count, REPEATED_RUN_COUNT / 2);
}

TEST(a_run_of_random_does_not_depend_on_the_runs_before)
{
    void *state = state_create(&strategy_random, 5, 0),
         *fresh = state_create(&strategy_random, 5, 0);
    struct simulated_state last = {.program = &simulated_plain};
    struct simulated_record record, alone;
    for (uint64_t run = 0; run < 30; run++) {
        simulated_run(&strategy_random, state, run, &last, &record);
    }
    simulated_run(&strategy_random, fresh, 29, &last, &alone);
    check_same_record(&record, &alone);
}

/* --- single choices --- */

static const uint64_t three_events[] = {7, 8, 9};
static const struct footprint any[LANE_COUNT_MAX];

TEST(random_takes_each_participant_as_often_and_the_first_event_most)
{
    enum { DRAW_COUNT = 60000 };
    const struct choice choice = {
        .lanes = 5, .event_count = 3, .events = three_events, .next = any};
    void *state = state_create(&strategy_random, 3, 0);
    uint32_t lanes[3] = {0}, events[3] = {0};
    strategy_random.begin(state, 0);
    for (uint32_t i = 0; i < DRAW_COUNT; i++) {
        const struct decision decision = strategy_random.choose(state, &choice);
        decision.completes ? events[decision.event - 7]++ : lanes[decision.lane]++;
    }
    /* A third each, of the events 4/6, 1/6 and 1/6: 500 is more than four standard deviations of
     * any of them. */
    ck_assert_uint_eq(lanes[1], 0);
    ck_assert_int_lt(abs((int)lanes[0] - DRAW_COUNT / 3), 500);
    ck_assert_int_lt(abs((int)lanes[2] - DRAW_COUNT / 3), 500);
    ck_assert_int_lt(abs((int)events[0] - DRAW_COUNT * 2 / 9), 500);
    ck_assert_int_lt(abs((int)events[1] - DRAW_COUNT / 18), 500);
    ck_assert_int_lt(abs((int)events[2] - DRAW_COUNT / 18), 500);
}

/* How often a time-out fires in so many choices with a lane, and how often when there is nothing
 * else. */
TEST(time_outs_fire_one_time_in_16_or_when_nothing_else_can, .to = KIND_COUNT)
{
    enum { DRAW_COUNT = 1600 };
    const struct strategy_kind *kind = strategies[_i];
    const bool fires_early = kind == &strategy_random || kind == &strategy_portfolio;
    void *state = state_create(kind, 3, 0);
    uint32_t early_count = 0;
    for (uint64_t i = 0; i < DRAW_COUNT; i++) {
        const struct choice choice = {
            .lanes = 1, .sleepers = 6, .next = any, .at.number = (uint32_t)i};
        kind->begin(state, i);
        early_count += kind->choose(state, &choice).lane != 0;
        kind->end(state, &(struct run_summary){.decision_count = 1});
    }
    if (fires_early) {
        ck_assert_uint_gt(early_count, 60);
        ck_assert_uint_lt(early_count, 140);
    } else {
        ck_assert_uint_eq(early_count, 0);
    }
    const struct choice nothing_else = {.sleepers = 6, .next = any};
    kind->begin(state, DRAW_COUNT);
    const struct decision decision = kind->choose(state, &nothing_else);
    ck_assert(!decision.completes && (decision.lane == 1 || decision.lane == 2));
}

TEST(round_robin_goes_to_the_next_participant_at_each_decision)
{
    void *state = state_create(&strategy_round_robin, 1, 0);
    struct simulated_state last = {.program = &simulated_plain};
    struct simulated_record record;
    simulated_run(&strategy_round_robin, state, 0, &last, &record);
    for (uint32_t i = 0; i < last.action_count - 1; i++) {
        ck_assert_uint_eq(last.actions[i] / SIMULATED_STEP_COUNT_MAX, (i + 1) % 3);
    }
}

TEST(round_robin_forgets_the_device_when_a_lane_has_run_since)
{
    struct choice choice = {
        .at = {.lane = 1}, .lanes = 3, .event_count = 3, .events = three_events, .next = any};
    void *state = state_create(&strategy_round_robin, 1, 0);
    strategy_round_robin.begin(state, 0);
    ck_assert(strategy_round_robin.choose(state, &choice).completes);
    choice.at.number = 1;
    ck_assert(strategy_round_robin.choose(state, &choice).completes);
}

TEST(round_robin_takes_the_device_after_the_last_lane)
{
    struct choice choice = {.lanes = 3, .event_count = 2, .events = three_events, .next = any};
    void *state = state_create(&strategy_round_robin, 1, 0);
    strategy_round_robin.begin(state, 0);
    ck_assert_uint_eq(strategy_round_robin.choose(state, &choice).lane, 1);
    choice.at = (struct point){.lane = 1, .number = 1};
    const struct decision completion = strategy_round_robin.choose(state, &choice);
    ck_assert(completion.completes && completion.event == 7);
    choice.event_count = 1;
    choice.events++;
    const struct decision next = strategy_round_robin.choose(state, &choice);
    ck_assert(!next.completes && next.lane == 0);
}

/* --- pct --- */

/* Lane 0's steps 2 and 3 with lane 1's step 3 between them: one change of priorities at the right
 * decision. */
static bool is_planted_2(const struct simulated_state *last)
{
    const uint32_t first = simulated_place(last, simulated_action(0, 2));
    const uint32_t between = simulated_place(last, simulated_action(1, 3));
    return first < between && between < simulated_place(last, simulated_action(0, 3));
}

/* And lane 1 stops there until lane 0 has taken its step: two changes. */
static bool is_planted_3(const struct simulated_state *last)
{
    return is_planted_2(last) && simulated_place(last, simulated_action(0, 3)) <
                                     simulated_place(last, simulated_action(1, 4));
}

TEST(pct_finds_what_is_planted_as_often_as_its_bound_says, .to = 2)
{
    enum { RUN_COUNT = 20000 };
    const uint32_t depth = 2 + (uint32_t)_i;
    void *state = state_create(&strategy_pct, 1, depth);
    struct simulated_state last = {.program = &simulated_plain};
    struct simulated_record record;
    struct strategy_bound bound;
    uint32_t found_count = 0;
    ck_assert(!strategy_pct_bound(state, &bound));
    for (uint64_t run = 0; run < RUN_COUNT; run++) {
        simulated_run(&strategy_pct, state, run, &last, &record);
        found_count += depth == 2 ? is_planted_2(&last) : is_planted_3(&last);
    }
    ck_assert(strategy_pct_bound(state, &bound));
    ck_assert_uint_eq(bound.n, 3);
    ck_assert_uint_eq(bound.depth, depth);
    ck_assert(bound.k >= 12 && bound.k <= 17);
    const double k = (double)bound.k;
    ck_assert_double_eq_tol(bound.probability, 1.0 / (3.0 * (depth == 2 ? k : k * k)), 1e-9);
    ck_assert_double_ge((double)found_count, RUN_COUNT * bound.probability / 2);
}

TEST(pct_switches_no_more_often_than_its_depth_allows, .to = 4)
{
    const uint32_t depth = 1 + (uint32_t)_i;
    void *state = state_create(&strategy_pct, 9, depth);
    struct simulated_state last = {.program = &simulated_plain};
    struct simulated_record record;
    uint32_t most = 0;
    for (uint64_t run = 0; run < 2000; run++) {
        uint32_t preemption_count = 0;
        simulated_run(&strategy_pct, state, run, &last, &record);
        for (uint32_t i = 1; i < last.action_count; i++) {
            const uint8_t before = last.actions[i - 1], lane = before / SIMULATED_STEP_COUNT_MAX;
            const bool had_ended = before == simulated_action(lane, 5);
            preemption_count += !had_ended && lane != last.actions[i] / SIMULATED_STEP_COUNT_MAX;
        }
        most = preemption_count > most ? preemption_count : most;
    }
    ck_assert_uint_eq(most, depth - 1);
}

TEST(a_lane_that_gives_way_comes_after_all_others)
{
    const struct simulated_program spins = {
        3, {4, 2, 2}, {{T(0), YIELD, T(0), T(0)}, {T(0), T(0)}, {T(0), T(0)}}};
    void *state = state_create(&strategy_pct, 2, 1);
    struct simulated_state last = {.program = &spins};
    struct simulated_record record;
    uint32_t early_count = 0;
    for (uint64_t run = 0; run < 200; run++) {
        simulated_run(&strategy_pct, state, run, &last, &record);
        ck_assert_uint_ge(simulated_place(&last, simulated_action(0, 1)), 5);
        early_count += simulated_place(&last, simulated_action(0, 0)) == 0;
    }
    ck_assert_uint_gt(early_count, 30);
}

TEST(pct_looks_for_its_changes_where_earlier_runs_had_decisions)
{
    const struct choice choice = {.lanes = 1, .next = any};
    struct strategy_bound bound;
    void *state = state_create(&strategy_pct, 2, 3);
    for (uint64_t run = 0; run < 3; run++) {
        static const uint64_t decision_counts[] = {5, 400, 20};
        strategy_pct.begin(state, run);
        strategy_pct.choose(state, &choice);
        ck_assert(
            strategy_pct.end(state, &(struct run_summary){.decision_count = decision_counts[run]}));
        ck_assert(strategy_pct_bound(state, &bound));
        ck_assert_uint_eq(bound.k, run == 0 ? 5 : 400);
    }
}

/* --- delay --- */

TEST(delay_uses_its_delays_and_no_more, .to = 8)
{
    const uint32_t allowed = 1 + (uint32_t)_i % 4;
    void *state = state_create(&strategy_delay, 4, allowed);
    struct simulated_state last = {.program = _i < 4 ? &simulated_plain : &simulated_with_events};
    struct simulated_record record;
    uint32_t most = 0;
    for (uint64_t run = 0; run < 2000; run++) {
        simulated_run(&strategy_delay, state, run, &last, &record);
        ck_assert_uint_le(record.deviation_count, allowed);
        most = record.deviation_count > most ? record.deviation_count : most;
    }
    ck_assert_uint_eq(most, allowed);
}

TEST(delays_that_meet_pass_over_one_participant_each)
{
    const struct choice choice = {.lanes = 7, .next = any};
    void *state = state_create(&strategy_delay, 4, 2);
    strategy_delay.begin(state, 0);
    strategy_delay.end(state, &(struct run_summary){.decision_count = 1});
    strategy_delay.begin(state, 1);
    ck_assert_uint_eq(strategy_delay.choose(state, &choice).lane, 2);
}

/* --- portfolio --- */

TEST(portfolio_deals_each_its_share_of_every_ten_runs)
{
    static const struct {
        const struct strategy_kind *kind;
        uint64_t argument;
        uint32_t share;
    } expected[] = {
        {&strategy_random, 0, 3}, {&strategy_pct, 2, 2},   {&strategy_pct, 3, 2},
        {&strategy_pct, 4, 1},    {&strategy_delay, 3, 2}, {&strategy_round_robin, 0, 0},
    };
    ck_assert_ptr_eq(strategy_portfolio_dealt(0, NULL), &strategy_round_robin);
    for (uint64_t first = 1; first < 1000; first += 10) {
        for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
            uint32_t share = 0;
            for (uint64_t run = first; run < first + 10; run++) {
                uint64_t argument;
                const struct strategy_kind *kind = strategy_portfolio_dealt(run, &argument);
                share += kind == expected[i].kind && argument == expected[i].argument;
            }
            ck_assert_uint_eq(share, expected[i].share);
        }
    }
}

/* The place of who is dealt the run in a table of the test's own; 0..5. */
static uint32_t alone_place(const struct strategy_kind *kind, uint64_t argument)
{
    if (kind == &strategy_pct) {
        return (uint32_t)argument - 2;
    }
    return kind == &strategy_random ? 3 : kind == &strategy_delay ? 4 : 5;
}

TEST(in_the_portfolio_each_decides_as_it_would_alone)
{
    void *portfolio = state_create(&strategy_portfolio, 33, 0);
    void *alone[6] = {NULL};
    struct simulated_state last = {.program = &simulated_with_events};
    struct simulated_record record, expected;
    for (uint64_t run = 0; run < 200; run++) {
        uint64_t argument;
        const struct strategy_kind *kind = strategy_portfolio_dealt(run, &argument);
        const uint32_t place = alone_place(kind, argument);
        if (alone[place] == NULL) {
            alone[place] = state_create(kind, 33, argument);
        }
        simulated_run(&strategy_portfolio, portfolio, run, &last, &record);
        simulated_run(kind, alone[place], run, &last, &expected);
        check_same_record(&record, &expected);
    }
}

TEST(in_the_portfolio_random_fires_no_more_time_outs_than_alone)
{
    enum { DRAW_COUNT = 16000 };
    const struct choice choice = {.lanes = 1, .sleepers = 2, .next = any};
    void *state = state_create(&strategy_portfolio, 3, 0);
    uint32_t count = 0;
    uint64_t run = 0;
    while (strategy_portfolio_dealt(run, NULL) != &strategy_random) {
        run++;
    }
    strategy_portfolio.begin(state, run);
    for (uint32_t i = 0; i < DRAW_COUNT; i++) {
        count += strategy_portfolio.choose(state, &choice).lane == 1;
    }
    ck_assert_int_lt(abs((int)count - DRAW_COUNT / 16), 150);
}
