#include "present/memory_track.h"

#include "harness/base/check.h"
#include "harness/base/trend.h"

#include <math.h>
#include <stdbool.h>

/* Four neighbours make a floor: the fullest moment of one trial is no growth. */
enum { WINDOW_COUNT_MAX = MEMORY_TRACK_POINT_COUNT_MAX / 4 };

uint64_t memory_share(const struct memory_point *point)
{
    CHECK(point->capacity_bytes > 0);
    const __uint128_t share = (__uint128_t)point->used_bytes * 10000 / point->capacity_bytes;
    return share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
}

bool memory_is_fuller(const struct memory_point *point, const struct memory_point *than)
{
    CHECK(point->capacity_bytes > 0 && than->capacity_bytes > 0);
    return (__uint128_t)point->used_bytes * than->capacity_bytes >
           (__uint128_t)than->used_bytes * point->capacity_bytes;
}

/* The fuller one, with the later end. */
static struct memory_point join_points(const struct memory_point *a, const struct memory_point *b)
{
    struct memory_point joined = memory_is_fuller(b, a) ? *b : *a;
    joined.op_count = b->op_count;
    return joined;
}

static void halve_track(struct memory_track *track)
{
    for (uint64_t i = 0; i < MEMORY_TRACK_POINT_COUNT_MAX / 2; i++) {
        track->points[i] = join_points(&track->points[2 * i], &track->points[2 * i + 1]);
    }
    track->point_count = MEMORY_TRACK_POINT_COUNT_MAX / 2;
    track->stride *= 2;
    track->open_count = track->stride;
}

/* A point that has its samples, or ends where the next sample does, is followed by another one. */
static bool is_point_start(const struct memory_track *track, const struct memory_point *sample)
{
    return track->point_count == 0 ||
           (track->open_count >= track->stride &&
            sample->op_count > track->points[track->point_count - 1].op_count);
}

void memory_track_add(struct memory_track *track, struct memory_point sample)
{
    CHECK(sample.op_count >= track->last.op_count);
    if (track->added_count == 0 || sample.used_bytes > track->peak.used_bytes) {
        track->peak = sample;
    }
    if (track->added_count == 0 || memory_is_fuller(&sample, &track->fullest)) {
        track->fullest = sample;
    }
    track->last = sample;
    if (track->added_count++ == 0) {
        track->stride = 1;
    }
    if (is_point_start(track, &sample)) {
        if (track->point_count == MEMORY_TRACK_POINT_COUNT_MAX) {
            halve_track(track);
        }
        track->points[track->point_count++] = sample;
        track->open_count = 1;
        return;
    }
    struct memory_point *point = &track->points[track->point_count - 1];
    *point = join_points(point, &sample);
    track->open_count++;
}

static bool is_one_device(const struct memory_track *track)
{
    for (uint64_t i = 1; i < track->point_count; i++) {
        if (track->points[i].capacity_bytes != track->points[0].capacity_bytes) {
            return false;
        }
    }
    return true;
}

bool memory_trend(const struct memory_track *track, int64_t *slope)
{
    uint64_t floors[MEMORY_TRACK_POINT_COUNT_MAX];
    struct trend trend;
    const struct trend_question question = {floors, track->point_count, TREND_STEP_COUNT_MIN,
                                            WINDOW_COUNT_MAX, TREND_CHANCE};
    if (track->point_count < 3 || !is_one_device(track)) {
        return false;
    }
    for (uint64_t i = 0; i < track->point_count; i++) {
        floors[i] = track->points[i].used_bytes;
    }
    const uint64_t last = track->point_count - 1;
    const double ops = (double)(track->points[last].op_count - track->points[0].op_count);
    const bool grows = trend_test(&question, &trend) == TREND_GROWS;
    const double bytes = grows ? trend.slope_bytes * 1000 * (double)last / ops : 0;
    *slope = bytes < 9e18 ? llround(bytes) : INT64_MAX;
    return true;
}
