/* What grows is told from what warms up, fills, repeats, or goes up in steps, and by how much. */
#include "harness/base/random.h"
#include "harness/base/trend.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FLOOR_COUNT = 200, COUNT_MIN = 64, WALK_COUNT = 2000 };
static uint64_t floors[FLOOR_COUNT];
static struct trend trend; /* what was said last */
static struct series series;
static const double ALPHA = 0.001 / 40;

static enum trend_answer test_floors(size_t count)
{
    const struct trend_question question = {floors, count, COUNT_MIN, TREND_WINDOW_COUNT_MAX,
                                            ALPHA};
    return trend_test(&question, &trend);
}

TEST(a_line_under_noise_grows_with_its_slope)
{
    struct random random;
    random_init(&random, 5);
    for (uint64_t i = 0; i < FLOOR_COUNT; i++) {
        floors[i] = 100000 + 100 * i + random_below(&random, 200);
    }
    ck_assert_int_eq(test_floors(FLOOR_COUNT), TREND_GROWS);
    ck_assert_double_gt(trend.slope_bytes, 90);
    ck_assert_double_lt(trend.slope_bytes, 110);
    ck_assert_uint_eq(trend.first % 4, 0);
}

TEST(warm_up_is_no_trend)
{
    for (uint64_t length = 10; length <= FLOOR_COUNT * 6 / 10; length += 10) {
        for (uint64_t i = 0; i < FLOOR_COUNT; i++) {
            floors[i] = (i < length ? i : length) * 1000;
        }
        ck_assert_msg(test_floors(FLOOR_COUNT) != TREND_GROWS, "warm-up of %" PRIu64 " of %d",
                      length, FLOOR_COUNT);
    }
    for (int i = 0; i < FLOOR_COUNT; i++) {
        floors[i] = (uint64_t)(1e6 * (1 - exp(-i * 5.0 / FLOOR_COUNT)));
    }
    ck_assert_int_ne(test_floors(FLOOR_COUNT), TREND_GROWS);
}

TEST(steps_are_no_trend)
{
    struct random random;
    random_init(&random, 6);
    for (int count = 1; count <= 8; count++) {
        for (int i = 0; i < FLOOR_COUNT; i++) {
            floors[i] = 1000 + (uint64_t)(i * count / FLOOR_COUNT) * 100000 +
                        random_below(&random, 50);
        }
        ck_assert_msg(test_floors(FLOOR_COUNT) != TREND_GROWS, "%d steps", count);
    }
}

TEST(periods_are_no_trend)
{
    for (uint64_t period = 2; period <= FLOOR_COUNT * 3 / 4; period++) {
        for (uint64_t i = 0; i < FLOOR_COUNT; i++) {
            floors[i] = 5000 + i % period * 1000;
        }
        ck_assert_msg(test_floors(FLOOR_COUNT) != TREND_GROWS, "period %" PRIu64, period);
    }
}

TEST(a_trend_is_seen_through_steps)
{
    for (uint64_t i = 0; i < FLOOR_COUNT; i++) {
        floors[i] = 100 * i + (i > 70 ? 1000000 : 0) + (i > 150 ? 500000 : 0);
    }
    ck_assert_int_eq(test_floors(FLOOR_COUNT), TREND_GROWS);
}

/* Bounded or not, and however slow, a walk drifts beyond chance no more often than alpha says. */
TEST(random_walks_are_no_trend)
{
    uint32_t cried = 0;
    for (uint64_t seed = 1; seed <= WALK_COUNT; seed++) {
        struct random random;
        random_init(&random, seed);
        const uint64_t bound = random_log_uniform(&random, 10, 100000);
        uint64_t at = random_below(&random, bound);
        for (int i = 0; i < FLOOR_COUNT; i++) {
            const bool goes_up = at == 0 || (at < bound && random_chance(&random, 1, 2));
            at = goes_up ? at + 1 : at - 1;
            floors[i] = at * 1000;
        }
        cried += test_floors(FLOOR_COUNT) == TREND_GROWS;
    }
    ck_assert_uint_eq(cried, 0);
}

TEST(a_short_series_says_nothing)
{
    for (uint64_t i = 0; i < FLOOR_COUNT; i++) {
        floors[i] = i;
    }
    ck_assert_int_eq(test_floors(COUNT_MIN - 1), TREND_SHORT);
    ck_assert_int_eq(test_floors(COUNT_MIN), TREND_GROWS);
}

TEST(few_floors_grow_where_each_is_above_the_one_before)
{
    const uint64_t rising[] = {10, 20, 40, 50}, falling[] = {10, 20, 15, 50};
    const struct trend_question question = {rising, 4, 2, TREND_WINDOW_COUNT_MAX, TREND_CHANCE};
    ck_assert_int_eq(trend_test(&question, &trend), TREND_GROWS);
    ck_assert_double_eq_tol(trend.slope_bytes, 14.2, 0.1);
    ck_assert_uint_eq(trend.rise_bytes, 40);
    const struct trend_question other = {falling, 4, 2, TREND_WINDOW_COUNT_MAX, TREND_CHANCE};
    ck_assert_int_eq(trend_test(&other, &trend), TREND_FLAT);
}

/* --- of a series --- */

/* So many steps of an op that takes 1000 and one that returns all of it but `left`. */
static void add_steps(size_t count, uint64_t base, uint64_t left)
{
    for (size_t i = 0; i < count; i++) {
        series_add(&series, base + i * left + 1000);
        series_add(&series, base + (i + 1) * left);
    }
}

TEST(what_steps_leave_behind_grows_by_as_much_an_op)
{
    add_steps(40, 5000, 10);
    ck_assert_int_eq(trend_of_series(&series, TREND_OPS, &trend), TREND_GROWS);
    ck_assert_double_eq_tol(trend.slope_bytes, 5, 1e-9);
    ck_assert_double_eq_tol(trend.slope_low_bytes, 5, 1e-9);
}

TEST(a_series_of_any_length_keeps_its_slope)
{
    add_steps(100000, 5000, 1);
    ck_assert_uint_eq(series.unit_count, 200000);
    ck_assert_uint_gt(series.slot_units, 1);
    ck_assert_int_eq(trend_of_series(&series, TREND_OPS, &trend), TREND_GROWS);
    ck_assert_double_eq_tol(trend.slope_bytes, 0.5, 0.001);
}

TEST(a_first_filling_is_no_growth)
{
    for (uint64_t i = 0; i < 200; i++) {
        series_add(&series, i * 1000);
    }
    ck_assert_int_eq(trend_of_series(&series, TREND_OPS, &trend), TREND_FILLS);
    memset(&series, 0, sizeof series);
    add_steps(200, 0, 600); /* more than half of what a step swings stays */
    ck_assert_int_eq(trend_of_series(&series, TREND_OPS, &trend), TREND_FILLS);
    ck_assert_int_eq(trend_of_series(&series, TREND_SEEN_STEPS, &trend), TREND_FILLS);
}

TEST(what_fills_before_the_steps_settle_does_not_count)
{
    for (uint64_t i = 0; i < 100; i++) {
        series_add(&series, i * 1000);
    }
    add_steps(100, 100000, 0);
    ck_assert_int_eq(trend_of_series(&series, TREND_OPS, &trend), TREND_FLAT);
}

TEST(an_evaluation_every_ten_steps_is_no_growth)
{
    for (size_t i = 0; i < 20; i++) {
        add_steps(9, 5000, 10); /* gives all back */
        add_steps(1, 5000, 0);
    }
    ck_assert_int_ne(trend_of_series(&series, TREND_OPS, &trend), TREND_GROWS);
}

TEST(known_steps_need_not_settle)
{
    for (uint64_t i = 0; i < 10; i++) {
        series_add(&series, i * 1000);
        series_widen(&series, i * 1000 + 10);
    }
    ck_assert_int_eq(trend_of_series(&series, TREND_SEEN_STEPS, &trend), TREND_FILLS);
    ck_assert_int_eq(trend_of_series(&series, TREND_KNOWN_STEPS, &trend), TREND_GROWS);
    ck_assert_double_eq_tol(trend.slope_bytes, 1000, 1e-9);
}

TEST(three_steps_say_nothing)
{
    add_steps(4, 5000, 10); /* the last one may be cut off */
    ck_assert_int_eq(trend_of_series(&series, TREND_OPS, &trend), TREND_SHORT);
    ck_assert_int_eq(trend_of_series(memset(&series, 0, sizeof series), TREND_OPS, &trend),
                     TREND_FILLS);
}
