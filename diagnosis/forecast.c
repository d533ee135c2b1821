#include "diagnosis/forecast.h"

#include "harness/base/check.h"
#include "harness/base/trend.h"

#include <stdlib.h>

enum { POINT_COUNT_MAX = 64 };
#define STEP_MAX 1e15 /* later steps, and more bytes, are none */

/* Collects the bytes in use after each op, by step, but for the last step: it may be cut off. */
static struct series *take_series(const uint64_t *in_use_bytes, size_t op_count,
                                  const struct remedy_steps *steps)
{
    const bool has_steps = steps->count > 0;
    const size_t part_count = has_steps ? steps->count - 1 : FORECAST_PART_COUNT;
    struct series *series = calloc(1, sizeof *series);
    CHECK(series != NULL);
    for (size_t k = 0; k < part_count; k++) {
        const size_t from = has_steps ? steps->bounds[k] : op_count * k / part_count;
        const size_t to = has_steps ? steps->bounds[k + 1] : op_count * (k + 1) / part_count;
        for (size_t i = from; i < to; i++) {
            if (i == from) {
                series_add(series, in_use_bytes[i]);
            } else {
                series_widen(series, in_use_bytes[i]);
            }
        }
    }
    return series;
}

/* lines[0] is the most favourable, [1] the median and [2] the least favourable.  The slots since
 * the trend began count, at most POINT_COUNT_MAX of them at equal distances, the last one among
 * them. */
static void find_lines(const struct series *series, const struct trend *trend,
                       struct forecast_line lines[3])
{
    const double slopes[3] = {trend->slope_low_bytes, trend->slope_bytes, trend->slope_high_bytes};
    const double units = (double)series->slot_units;
    const size_t last = series->count - 1;
    const size_t wanted = series->count - (size_t)(trend->first / series->slot_units);
    const size_t stride = (wanted + POINT_COUNT_MAX - 1) / POINT_COUNT_MAX;
    double offsets[POINT_COUNT_MAX], heights[POINT_COUNT_MAX];
    size_t count = 0;
    for (size_t back = 0; back < wanted; back += stride) {
        const struct series_slot *slot = &series->slots[last - back];
        offsets[count] = (double)slot->floor_bytes + trend->slope_bytes * units * (double)back;
        heights[count++] = (double)(slot->top_bytes - slot->floor_bytes);
    }
    for (unsigned k = 0; k < 3; k++) {
        lines[k].slope = slopes[k];
        lines[k].value = trend_quantile(offsets, count, k * 50);
        lines[k].height = trend_quantile(heights, count, k * 50);
    }
}

/* The first step, from 1, whose peak is above the capacity. */
static uint64_t find_full_step(const struct forecast_line *line, size_t step_count,
                               uint64_t capacity_bytes)
{
    const double room = (double)capacity_bytes - line->value - line->height;
    if (room < 0) {
        return step_count;
    }
    const double steps = room / line->slope;
    return step_count + 1 + (uint64_t)(steps < STEP_MAX ? steps : STEP_MAX);
}

void forecast_take(const uint64_t *in_use_bytes, size_t op_count, const struct remedy_steps *steps,
                   uint64_t capacity_bytes, struct forecast *forecast)
{
    struct forecast_line *lines = forecast->lines;
    struct trend trend;
    struct series *series = take_series(in_use_bytes, op_count, steps);
    *forecast = (struct forecast){.has_steps = steps->count > 0};
    if (series->unit_count >= FORECAST_STEP_COUNT_MIN) {
        const enum trend_answer answer = trend_of_series(series, TREND_SEEN_STEPS, &trend);
        forecast->fills = answer == TREND_FILLS;
        forecast->grows = answer == TREND_GROWS && trend.slope_low_bytes > 0;
    }
    if (forecast->grows) {
        find_lines(series, &trend, lines);
        const size_t step_count = (size_t)series->unit_count;
        forecast->step_count = step_count;
        forecast->step_ops = steps->count > 0 ? steps->length : op_count / step_count;
        forecast->step_bytes = (uint64_t)lines[1].slope;
        forecast->full.at = find_full_step(&lines[1], step_count, capacity_bytes);
        forecast->full.from = find_full_step(&lines[2], step_count, capacity_bytes);
        forecast->full.to = find_full_step(&lines[0], step_count, capacity_bytes);
        forecast->at_op = (steps->count > 0 ? steps->bounds[0] : 0) +
                          (forecast->full.at - 1) * forecast->step_ops;
    }
    free(series);
}

void forecast_peak(const struct forecast *forecast, uint64_t step, uint64_t peak_bytes[3])
{
    for (unsigned k = 0; k < 3; k++) {
        const struct forecast_line *line = &forecast->lines[k];
        const double bytes = line->value + line->height +
                             line->slope * ((double)step - (double)forecast->step_count);
        peak_bytes[k] = bytes < STEP_MAX ? (uint64_t)bytes : (uint64_t)STEP_MAX;
    }
}
