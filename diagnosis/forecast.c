#include "diagnosis/forecast.h"

#include "harness/base/check.h"

#include <stdlib.h>

/* Points of the line, and the quantiles of their slopes that bound it: nine of ten lie between. */
enum { POINT_COUNT_MAX = 64, SLOPE_COUNT_MAX = POINT_COUNT_MAX * (POINT_COUNT_MAX - 1) / 2 };
enum { QUANTILE_LOW = 5, QUANTILE_HIGH = 95, RISING_PERCENT = 90 };
#define STEP_MAX 1e15 /* later steps, and more bytes, are none */

/* The least and the most that is in use in each step. */
struct series {
    double *floors, *heights; /* count of them; heights above the floor */
    size_t count;
    size_t falling_count; /* steps in which something is given back */
};

static void take_step(const uint64_t *in_use_bytes, size_t from, size_t to, struct series *series)
{
    uint64_t least = in_use_bytes[from];
    uint64_t most = least;
    bool falls = false;
    for (size_t i = from; i < to; i++) {
        falls = falls || (i > from && in_use_bytes[i] < in_use_bytes[i - 1]);
        least = in_use_bytes[i] < least ? in_use_bytes[i] : least;
        most = in_use_bytes[i] > most ? in_use_bytes[i] : most;
    }
    series->floors[series->count] = (double)least;
    series->heights[series->count++] = (double)(most - least);
    series->falling_count += falls;
}

static void take_series(const uint64_t *in_use_bytes, size_t op_count,
                        const struct remedy_steps *steps, struct series *series)
{
    const bool has_steps = steps->count > 0;
    const size_t part_count = has_steps ? steps->count - 1 : FORECAST_PART_COUNT;
    series->floors = calloc(part_count + 1, sizeof *series->floors);
    series->heights = calloc(part_count + 1, sizeof *series->heights);
    CHECK(series->floors != NULL && series->heights != NULL);
    for (size_t k = 0; k < part_count; k++) {
        const size_t from = has_steps ? steps->bounds[k] : op_count * k / part_count;
        const size_t to = has_steps ? steps->bounds[k + 1] : op_count * (k + 1) / part_count;
        if (from < to) {
            take_step(in_use_bytes, from, to, series);
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double find_quantile(const double *sorted, size_t count, unsigned percent)
{
    return sorted[(count - 1) * percent / 100];
}

/* Floors in the last three quarters are hardly ever below the one before.  Where next to nothing is
 * given back, the list only fills the device: it has no floor. */
static bool is_rising(const struct series *series)
{
    const size_t first = series->count / 4;
    size_t rising = 0;
    for (size_t i = first + 1; i < series->count; i++) {
        rising += series->floors[i] >= series->floors[i - 1];
    }
    return rising * 100 >= (series->count - 1 - first) * RISING_PERCENT &&
           2 * series->falling_count >= series->count &&
           series->floors[series->count - 1] > series->floors[first];
}

static double find_slope(const struct series *series, size_t first, size_t stride, double slopes[3])
{
    double all[SLOPE_COUNT_MAX];
    size_t count = 0;
    for (size_t i = first; i < series->count; i += stride) {
        for (size_t k = i + stride; k < series->count; k += stride) {
            all[count++] = (series->floors[k] - series->floors[i]) / (double)(k - i);
        }
    }
    qsort(all, count, sizeof *all, compare_doubles);
    slopes[0] = find_quantile(all, count, QUANTILE_LOW);
    slopes[1] = find_quantile(all, count, 50);
    slopes[2] = find_quantile(all, count, QUANTILE_HIGH);
    return slopes[1];
}

/* lines[0] is the most favourable, [1] the median and [2] the least favourable.  The last three
 * quarters of the steps count, at most POINT_COUNT_MAX of them at equal distances, the last one
 * among them. */
static void find_lines(const struct series *series, struct forecast_line lines[3])
{
    const size_t last = series->count - 1;
    const size_t wanted = series->count - series->count / 4;
    const size_t stride = (wanted + POINT_COUNT_MAX - 1) / POINT_COUNT_MAX;
    const size_t point_count = (wanted - 1) / stride + 1;
    const size_t first = last - (point_count - 1) * stride;
    double slopes[3], offsets[POINT_COUNT_MAX], heights[POINT_COUNT_MAX];
    const double slope = find_slope(series, first, stride, slopes);
    size_t count = 0;
    for (size_t i = first; i <= last && count < POINT_COUNT_MAX; i += stride) {
        offsets[count] = series->floors[i] + slope * (double)(last - i);
        heights[count++] = series->heights[i];
    }
    qsort(offsets, count, sizeof *offsets, compare_doubles);
    qsort(heights, count, sizeof *heights, compare_doubles);
    for (unsigned k = 0; k < 3; k++) {
        lines[k].slope = slopes[k];
        lines[k].value = find_quantile(offsets, count, k * 50);
        lines[k].height = find_quantile(heights, count, k * 50);
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
    struct series series = {0};
    struct forecast_line *lines = forecast->lines;
    *forecast = (struct forecast){.has_steps = steps->count > 0};
    take_series(in_use_bytes, op_count, steps, &series);
    if (series.count >= FORECAST_STEP_COUNT_MIN && is_rising(&series)) {
        find_lines(&series, lines);
        forecast->grows = lines[0].slope > 0;
    }
    if (forecast->grows) {
        forecast->step_count = series.count;
        forecast->step_ops = steps->count > 0 ? steps->length : op_count / series.count;
        forecast->step_bytes = (uint64_t)lines[1].slope;
        forecast->at = find_full_step(&lines[1], series.count, capacity_bytes);
        forecast->from = find_full_step(&lines[2], series.count, capacity_bytes);
        forecast->to = find_full_step(&lines[0], series.count, capacity_bytes);
        forecast->at_op = (steps->count > 0 ? steps->bounds[0] : 0) +
                          (forecast->at - 1) * forecast->step_ops;
    }
    free(series.floors);
    free(series.heights);
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
