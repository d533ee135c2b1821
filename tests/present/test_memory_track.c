/* Memory over time keeps its peaks in few points, and its trend is not decided by a spike. */
#include "present/memory_chart.h"
#include "tests/present/text_fixture.h"

#include <check.h>
#include <string.h>

EVERY_TEST(.teardown = snap_text);

static void add_point(struct memory_track *track, uint64_t op_count, uint64_t used_bytes,
                      uint64_t capacity_bytes)
{
    memory_track_add(track, (struct memory_point){op_count, used_bytes, capacity_bytes});
}

TEST(points_stay_few_in_order_and_keep_the_peak)
{
    struct memory_track track = {0};
    for (uint64_t i = 1; i <= 100000; i++) {
        add_point(&track, i, i == 4711 ? 999 : i % 7, 1000);
    }
    bool has_peak = false;
    ck_assert_uint_le(track.point_count, MEMORY_TRACK_POINT_COUNT_MAX);
    ck_assert_uint_ge(track.point_count, MEMORY_TRACK_POINT_COUNT_MAX / 2);
    for (uint64_t i = 0; i < track.point_count; i++) {
        ck_assert(i == 0 || track.points[i].op_count > track.points[i - 1].op_count);
        has_peak |= track.points[i].used_bytes == 999;
    }
    ck_assert(has_peak);
    ck_assert_uint_eq(track.peak.used_bytes, 999);
    ck_assert_uint_eq(track.peak.op_count, 4711);
    ck_assert_uint_eq(track.last.op_count, 100000);
    ck_assert_uint_eq(track.points[track.point_count - 1].op_count, 100000);
}

TEST(the_peak_is_exact_to_the_byte_on_the_largest_device)
{
    struct memory_track track = {0};
    const uint64_t capacity_bytes = UINT64_C(1) << 50;
    for (uint64_t i = 0; i < 1000; i++) {
        add_point(&track, i, i <= 500 ? i : 1000 - i, capacity_bytes);
    }
    bool has_peak = false;
    for (uint64_t i = 0; i < track.point_count; i++) {
        has_peak |= track.points[i].used_bytes == 500;
    }
    ck_assert(has_peak);
    ck_assert_uint_eq(track.peak.used_bytes, 500);
    ck_assert_uint_eq(track.peak.op_count, 500);
}

TEST(of_two_devices_one_is_fuller_and_one_has_the_peak)
{
    struct memory_track track = {0};
    add_point(&track, 1, 999999, 1000000);
    ck_assert_uint_eq(track.peak.op_count, 1);
    add_point(&track, 2, 1999997, 2000000);
    ck_assert_uint_eq(track.fullest.op_count, 1);
    ck_assert_uint_eq(track.peak.op_count, 2);
    add_point(&track, 3, 1999999, 2000000);
    ck_assert_uint_eq(track.fullest.op_count, 3);
    ck_assert_uint_eq(track.peak.op_count, 3);
}

/* A small device that was nearly full before a large one that is half full. */
TEST(no_peak_below_what_is_in_use_is_told)
{
    struct memory_track track = {0};
    const struct memory_chart chart = {.alarm_percent = 90};
    const struct memory_device device = {"job", &track, NULL};
    add_point(&track, 1, UINT64_C(63) << 20, UINT64_C(64) << 20);
    add_point(&track, 2, UINT64_C(9) << 30, UINT64_C(16) << 30);
    add_point(&track, 3, UINT64_C(8) << 30, UINT64_C(16) << 30);
    (void)memory_chart_draw(&chart, &device, &text);
    memory_chart_json(&chart, &device, &text);
}

TEST(samples_at_one_op_are_one_point)
{
    struct memory_track track = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        add_point(&track, 5, i, 1000);
    }
    ck_assert_uint_eq(track.point_count, 1);
    ck_assert_uint_eq(track.points[0].used_bytes, 999);
}

TEST(a_trend_is_told_in_spite_of_spikes)
{
    struct memory_track track = {0};
    int64_t slope = 0;
    for (uint64_t i = 0; i < 60; i++) {
        add_point(&track, i * 100, 1000 + i * 5 + (i % 10 == 3 ? 100000 : 0), 1000000);
    }
    ck_assert(memory_trend(&track, &slope));
    ck_assert_int_eq(slope, 50);
}

TEST(there_is_no_trend_over_different_devices_or_two_points)
{
    struct memory_track two = {0}, other = {0};
    int64_t slope = 7;
    add_point(&two, 1, 1, 10);
    add_point(&two, 2, 2, 10);
    for (uint64_t i = 0; i < 9; i++) {
        add_point(&other, i, i, 10 + i);
    }
    ck_assert(!memory_trend(&two, &slope));
    ck_assert(!memory_trend(&other, &slope));
    ck_assert_int_eq(slope, 7);
}

TEST(extreme_numbers_do_not_overflow)
{
    struct memory_track track = {0};
    int64_t slope = 0;
    for (uint64_t i = 0; i < 5; i++) {
        add_point(&track, i, i % 2 == 0 ? 0 : UINT64_MAX, 1);
    }
    ck_assert(memory_trend(&track, &slope));
    ck_assert_uint_eq(memory_share(&track.fullest), UINT64_MAX);
}

TEST(sizes_are_rounded_to_the_nearest_in_the_unit_of_the_device)
{
    static const uint64_t sizes[][2] = {
        {(UINT64_C(18) << 30) + (UINT64_C(459) << 20), UINT64_C(31) << 30},
        {1023, 1024},
        {1018, 1024},
        {UINT64_MAX, UINT64_MAX},
        {UINT64_MAX, 0},
        {0, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char size[MEMORY_TEXT_BYTES];
        memory_print(sizes[i][0], sizes[i][1], size);
        writing_append_format(&text, "%s\n", size);
    }
}

TEST(names_cannot_act_on_the_terminal_and_an_alarm_is_told_at_its_share, .to = 3)
{
    static const unsigned alarms[] = {90, 91, 0};
    struct memory_track track = {0};
    const struct memory_chart chart = {.alarm_percent = alarms[_i]};
    const struct memory_device device = {"a\033[31m\njob", &track, NULL};
    add_point(&track, 1, 90, 100);
    add_point(&track, 2, 50, 100);
    const size_t lines = memory_chart_draw(&chart, &device, &text);
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        count += text.bytes[i] == '\n';
    }
    ck_assert_uint_eq(count, lines);
}
