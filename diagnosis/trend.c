#include "diagnosis/private/trend.h"

#include "harness/base/check.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_COUNT_MAX = 8,
    STEP_DEVIATIONS = 6,
    WINDOW_COUNT_MIN = 24,
    PAIR_COUNT_MAX = TREND_WINDOW_COUNT_MAX * (TREND_WINDOW_COUNT_MAX - 1) / 2,
    BEGINNING_COUNT = 2
};
static const double QUARTER_SHARE_MIN = 0.08; /* of the growth; a steady one has 0.25 in each */
static const double RISING_SHARE_MIN = 0.4;
static const double SIGNIFICANT_LAG =
    1.96; /* of 1/sqrt(n): the usual band for an autocorrelation of nothing */

struct series {
    double values[TREND_WINDOW_COUNT_MAX];
    size_t count;
};

/* --- order --- */

static int compare_slopes(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double find_median(double *values, size_t count)
{
    CHECK(count > 0);
    qsort(values, count, sizeof *values, compare_slopes);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double find_slope(const struct series *series)
{
    double slopes[PAIR_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++) {
        for (size_t j = i + 1; j < series->count; j++) {
            slopes[count++] = (series->values[j] - series->values[i]) / (double)(j - i);
        }
    }
    return find_median(slopes, count);
}

static void rank_values(const struct series *series, double *ranks)
{
    for (size_t i = 0; i < series->count; i++) {
        size_t below = 0;
        size_t equal = 0;
        for (size_t j = 0; j < series->count; j++) {
            below += series->values[j] < series->values[i];
            equal += series->values[j] == series->values[i];
        }
        ranks[i] = (double)below + ((double)equal + 1) / 2;
    }
}

/* By how much the variance of the order statistic grows because neighbours are alike (Hamed and
 * Rao). */
static double find_autocorrelation_factor(const struct series *series, double slope)
{
    struct series rest = *series;
    double ranks[TREND_WINDOW_COUNT_MAX];
    const double n = (double)series->count;
    double variance = 0;
    double sum = 0;
    for (size_t i = 0; i < rest.count; i++) {
        rest.values[i] -= slope * (double)i;
    }
    rank_values(&rest, ranks);
    for (size_t i = 0; i < rest.count; i++) {
        ranks[i] -= (n + 1) / 2;
        variance += ranks[i] * ranks[i];
    }
    for (size_t lag = 1; lag < rest.count / 2 && variance > 0; lag++) {
        double covariance = 0;
        for (size_t i = 0; i + lag < rest.count; i++) {
            covariance += ranks[i] * ranks[i + lag];
        }
        const double k = (double)lag;
        const double correlation = covariance / variance;
        sum += correlation * sqrt(n) > SIGNIFICANT_LAG
                   ? (n - k) * (n - k - 1) * (n - k - 2) * correlation
                   : 0;
    }
    return 1 + 2 * sum / (n * (n - 1) * (n - 2));
}

static double find_tie_correction(const struct series *series)
{
    double sorted[TREND_WINDOW_COUNT_MAX];
    double correction = 0;
    memcpy(sorted, series->values, series->count * sizeof *sorted);
    qsort(sorted, series->count, sizeof *sorted, compare_slopes);
    for (size_t i = 0; i < series->count;) {
        size_t end = i;
        while (end < series->count && sorted[end] == sorted[i]) {
            end++;
        }
        const double tied = (double)(end - i);
        correction += tied * (tied - 1) * (2 * tied + 5);
        i = end;
    }
    return correction;
}

static double find_order_statistic(const struct series *series, double slope)
{
    double score = 0;
    const double n = (double)series->count;
    for (size_t i = 0; i < series->count; i++) {
        for (size_t j = i + 1; j < series->count; j++) {
            score += series->values[j] > series->values[i];
            score -= series->values[j] < series->values[i];
        }
    }
    const double variance = (n * (n - 1) * (2 * n + 5) - find_tie_correction(series)) / 18;
    if (variance <= 0 || score <= 0) {
        return 0;
    }
    return (score - 1) / sqrt(variance * find_autocorrelation_factor(series, slope));
}

/* --- drift --- */

static double find_drift(const struct series *series, size_t distance)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i + distance < series->count; i += distance) {
        const double difference = series->values[i + distance] - series->values[i];
        sum += difference;
        squares += difference * difference;
    }
    return squares > 0 ? sum / sqrt(squares) : 0;
}

/* Neighbours tell a small drift, pairs one under noise. */
static double find_drift_statistic(const struct series *series)
{
    const double one = find_drift(series, 1);
    const double two = find_drift(series, 2);
    return one > two ? one : two;
}

/* An upper bound of the chance that a normal variable is above z (Mills). */
static double find_chance_above(double z)
{
    return z <= 0.5 ? 1 : exp(-z * z / 2) / (z * 2.5066282746310002);
}

/* --- steps --- */

static double find_deviation(const double *differences, size_t count, double middle)
{
    double deviations[TREND_WINDOW_COUNT_MAX];
    for (size_t i = 0; i < count; i++) {
        deviations[i] = fabs(differences[i] - middle);
    }
    return find_median(deviations, count);
}

static size_t find_farthest(const double *differences, size_t count, double middle)
{
    size_t far = 0;
    for (size_t i = 1; i < count; i++) {
        if (fabs(differences[i] - middle) > fabs(differences[far] - middle)) {
            far = i;
        }
    }
    return far;
}

/* The largest of the differences that stand out become the median one. */
static void take_out_steps(struct series *series)
{
    double differences[TREND_WINDOW_COUNT_MAX];
    double sorted[TREND_WINDOW_COUNT_MAX];
    const size_t count = series->count - 1;
    for (size_t i = 0; i < count; i++) {
        differences[i] = sorted[i] = series->values[i + 1] - series->values[i];
    }
    const double middle = find_median(sorted, count);
    const double deviation = find_deviation(differences, count, middle);
    for (int taken = 0; taken < STEP_COUNT_MAX; taken++) {
        const size_t far = find_farthest(differences, count, middle);
        if (fabs(differences[far] - middle) <= STEP_DEVIATIONS * deviation) {
            break;
        }
        differences[far] = middle;
    }
    for (size_t i = 0; i < count; i++) {
        series->values[i + 1] = series->values[i] + differences[i];
    }
}

/* --- how the growth is spread --- */

/* What never went away again: the least value from here to the end. */
static void keep_lasting(struct series *series)
{
    for (size_t i = series->count - 1; i > 0; i--) {
        if (series->values[i] < series->values[i - 1]) {
            series->values[i - 1] = series->values[i];
        }
    }
}

static enum trend_answer judge_spread(const struct series *series, struct trend *trend)
{
    struct series lasting = *series;
    keep_lasting(&lasting);
    const size_t last = lasting.count - 1;
    const double grown = lasting.values[last] - lasting.values[0];
    for (size_t i = 0; i < last; i++) {
        trend->rising_count += lasting.values[i + 1] > lasting.values[i];
    }
    if (grown <= 0) {
        return TREND_FLAT;
    }
    if (trend->rising_count < RISING_SHARE_MIN * (double)last) {
        return TREND_STEPS;
    }
    for (size_t quarter = 0; quarter < 4; quarter++) {
        const double share = (lasting.values[last * (quarter + 1) / 4] -
                              lasting.values[last * quarter / 4]) /
                             grown;
        if (share < QUARTER_SHARE_MIN) {
            return quarter == 3 ? TREND_PLATEAU : TREND_STEPS;
        }
    }
    /* Of a growth that goes on an eighth has an eighth. */
    return lasting.values[last] - lasting.values[last - last / 8] < QUARTER_SHARE_MIN / 2 * grown
               ? TREND_PLATEAU
               : TREND_GROWS;
}

/* --- the whole --- */

static double find_least(const double *values, size_t count)
{
    double lowest = values[0];
    for (size_t i = 1; i < count; i++) {
        lowest = values[i] < lowest ? values[i] : lowest;
    }
    return lowest;
}

/* Before the second half of what is looked at, as high as ever since in the last quarter. */
static bool has_been_as_high(const struct series *all, size_t first)
{
    const size_t quarter = (all->count - first) / 4;
    const double now = find_least(&all->values[all->count - quarter], quarter);
    for (size_t i = 0; i < first + 2 * quarter; i++) {
        if (all->values[i] >= now) {
            return true;
        }
    }
    return false;
}

static enum trend_answer test_from(const struct series *all, size_t first, double alpha,
                                   struct trend *trend)
{
    struct series series = {.count = all->count - first};
    memcpy(series.values, &all->values[first], series.count * sizeof *series.values);
    const size_t eighth = series.count / 8;
    const double rise = find_least(&series.values[series.count - eighth], eighth) -
                        find_least(series.values, eighth);
    take_out_steps(&series);
    const double slope = find_slope(&series);
    *trend = (struct trend){.first = first,
                            .window_count = (uint32_t)series.count,
                            .slope_bytes = slope,
                            .rise_bytes = rise > 0 ? (uint64_t)rise : 0};
    trend->z_order = find_order_statistic(&series, slope);
    trend->z_drift = find_drift_statistic(&series);
    trend->p = fmax(find_chance_above(trend->z_order), find_chance_above(trend->z_drift));
    if (rise <= 0 || slope <= 0 || trend->p > alpha) {
        return TREND_FLAT;
    }
    const enum trend_answer answer = judge_spread(&series, trend);
    return answer == TREND_GROWS && has_been_as_high(all, first) ? TREND_BEFORE : answer;
}

/* Windows of equal length: the last floors that make no whole window join the last one. */
static size_t make_windows(const uint64_t *floors, size_t count, struct series *all)
{
    const size_t length = (count + TREND_WINDOW_COUNT_MAX - 1) / TREND_WINDOW_COUNT_MAX;
    all->count = count / length;
    for (size_t i = 0; i < all->count; i++) {
        const size_t end = i + 1 == all->count ? count : (i + 1) * length;
        uint64_t lowest = UINT64_MAX;
        for (size_t j = i * length; j < end; j++) {
            lowest = floors[j] < lowest ? floors[j] : lowest;
        }
        all->values[i] = (double)lowest;
    }
    return length;
}

enum trend_answer trend_test(const uint64_t *floors, size_t count, double alpha,
                             struct trend *trend)
{
    struct series all;
    enum trend_answer answer = TREND_SHORT;
    if (count < TREND_FLOOR_COUNT_MIN) {
        return TREND_SHORT;
    }
    const size_t length = make_windows(floors, count, &all);
    for (size_t i = 0; i < BEGINNING_COUNT && answer != TREND_GROWS; i++) {
        const size_t first = all.count * (i + 1) / 4;
        if (all.count - first < WINDOW_COUNT_MIN && i > 0) {
            break;
        }
        answer = test_from(&all, first, alpha / BEGINNING_COUNT, trend);
        trend->first *= length;
        trend->slope_bytes /= (double)length;
    }
    return answer;
}

const char *trend_answer_name(enum trend_answer answer)
{
    switch (answer) {
    case TREND_GROWS:
        return "grows";
    case TREND_SHORT:
        return "too short to decide";
    case TREND_FLAT:
        return "does not grow beyond chance";
    case TREND_STEPS:
        return "grew in a few steps";
    case TREND_PLATEAU:
        return "grew, and stopped";
    case TREND_BEFORE:
        return "was as high before";
    }
    return "unknown";
}
