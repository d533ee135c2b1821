#include "harness/base/trend.h"

#include "harness/base/check.h"
#include "harness/base/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_COUNT_MAX = 8,
    STEP_DEVIATIONS = 6,
    STEP_DIVISOR = 6, /* of few differences one in so many */
    WINDOW_COUNT_MIN = 24,
    PAIR_COUNT_MAX = TREND_WINDOW_COUNT_MAX * (TREND_WINDOW_COUNT_MAX - 1) / 2,
    BEGINNING_COUNT = 2,
    SETTLED_STEP_COUNT_MIN = 2,
    SLOPE_PERCENT_LOW = 5,
    SLOPE_PERCENT_HIGH = 95
};
static const double QUARTER_SHARE_MIN = 0.08; /* of the growth; a steady one has 0.25 in each */
static const double RISING_SHARE_MIN = 0.4;
static const double SIGNIFICANT_LAG =
    1.96; /* of 1/sqrt(n): the usual band for an autocorrelation of nothing */

struct windows {
    double values[TREND_WINDOW_COUNT_MAX];
    size_t count;
};

/* --- order --- */

double trend_quantile(double *values, size_t count, unsigned percent)
{
    CHECK(count > 0 && percent <= 100);
    sort_doubles(values, count);
    return values[(count - 1) * percent / 100];
}

static void find_slopes(const struct windows *windows, struct trend *trend)
{
    double slopes[PAIR_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < windows->count; i++) {
        for (size_t j = i + 1; j < windows->count; j++) {
            slopes[count++] = (windows->values[j] - windows->values[i]) / (double)(j - i);
        }
    }
    trend->slope_bytes = median_of_doubles(slopes, count);
    trend->slope_low_bytes = slopes[(count - 1) * SLOPE_PERCENT_LOW / 100];
    trend->slope_high_bytes = slopes[(count - 1) * SLOPE_PERCENT_HIGH / 100];
}

static void rank_values(const struct windows *windows, double *ranks)
{
    for (size_t i = 0; i < windows->count; i++) {
        size_t below = 0;
        size_t equal = 0;
        for (size_t j = 0; j < windows->count; j++) {
            below += windows->values[j] < windows->values[i];
            equal += windows->values[j] == windows->values[i];
        }
        ranks[i] = (double)below + ((double)equal + 1) / 2;
    }
}

/* Returns by how much the variance of the order statistic grows because neighbours are alike (Hamed
 * and Rao). */
static double find_autocorrelation_factor(const struct windows *windows, double slope)
{
    struct windows rest = *windows;
    double ranks[TREND_WINDOW_COUNT_MAX];
    const double n = (double)windows->count;
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

static double find_tie_correction(const struct windows *windows)
{
    double sorted[TREND_WINDOW_COUNT_MAX];
    double correction = 0;
    memcpy(sorted, windows->values, windows->count * sizeof *sorted);
    sort_doubles(sorted, windows->count);
    for (size_t i = 0; i < windows->count;) {
        size_t end = i;
        while (end < windows->count && sorted[end] == sorted[i]) {
            end++;
        }
        const double tied = (double)(end - i);
        correction += tied * (tied - 1) * (2 * tied + 5);
        i = end;
    }
    return correction;
}

static double find_order_statistic(const struct windows *windows, double slope)
{
    double score = 0;
    const double n = (double)windows->count;
    for (size_t i = 0; i < windows->count; i++) {
        for (size_t j = i + 1; j < windows->count; j++) {
            score += windows->values[j] > windows->values[i];
            score -= windows->values[j] < windows->values[i];
        }
    }
    const double variance = (n * (n - 1) * (2 * n + 5) - find_tie_correction(windows)) / 18;
    if (variance <= 0 || score <= 0) {
        return 0;
    }
    return (score - 1) / sqrt(variance * find_autocorrelation_factor(windows, slope));
}

/* --- drift --- */

static double find_drift(const struct windows *windows, size_t distance)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i + distance < windows->count; i += distance) {
        const double difference = windows->values[i + distance] - windows->values[i];
        sum += difference;
        squares += difference * difference;
    }
    return squares > 0 ? sum / sqrt(squares) : 0;
}

/* Neighbours tell a small drift, pairs one under noise. */
static double find_drift_statistic(const struct windows *windows)
{
    const double one = find_drift(windows, 1);
    const double two = find_drift(windows, 2);
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
    return median_of_doubles(deviations, count);
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
static void take_out_steps(struct windows *windows)
{
    double differences[TREND_WINDOW_COUNT_MAX];
    double sorted[TREND_WINDOW_COUNT_MAX];
    const size_t count = windows->count - 1;
    for (size_t i = 0; i < count; i++) {
        differences[i] = sorted[i] = windows->values[i + 1] - windows->values[i];
    }
    const double middle = median_of_doubles(sorted, count);
    const double deviation = find_deviation(differences, count, middle);
    const size_t most = windows->count < WINDOW_COUNT_MIN ? count / STEP_DIVISOR : STEP_COUNT_MAX;
    for (size_t taken = 0; taken < most; taken++) {
        const size_t far = find_farthest(differences, count, middle);
        if (fabs(differences[far] - middle) <= STEP_DEVIATIONS * deviation) {
            break;
        }
        differences[far] = middle;
    }
    for (size_t i = 0; i < count; i++) {
        windows->values[i + 1] = windows->values[i] + differences[i];
    }
}

/* --- how the growth is spread --- */

/* Keeps what never went away again: each value becomes the least one from it to the end. */
static void keep_lasting(struct windows *windows)
{
    for (size_t i = windows->count - 1; i > 0; i--) {
        if (windows->values[i] < windows->values[i - 1]) {
            windows->values[i - 1] = windows->values[i];
        }
    }
}

static size_t find_eighth(size_t count)
{
    return count < 8 ? 1 : count / 8;
}

static enum trend_answer judge_spread(const struct windows *windows, struct trend *trend)
{
    struct windows lasting = *windows;
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
    /* If growth goes on, the last eighth has an eighth of it. */
    return lasting.values[last] - lasting.values[last - find_eighth(last)] <
                   QUARTER_SHARE_MIN / 2 * grown
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
static bool has_been_as_high(const struct windows *all, size_t first)
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

static enum trend_answer test_from(const struct windows *all, size_t first, double alpha,
                                   struct trend *trend)
{
    struct windows windows = {.count = all->count - first};
    memcpy(windows.values, &all->values[first], windows.count * sizeof *windows.values);
    const size_t eighth = find_eighth(windows.count);
    const double rise = find_least(&windows.values[windows.count - eighth], eighth) -
                        find_least(windows.values, eighth);
    *trend = (struct trend){.first = first,
                            .window_count = (uint32_t)windows.count,
                            .rise_bytes = rise > 0 ? (uint64_t)rise : 0};
    if (rise <= 0) {
        return TREND_FLAT;
    }
    find_slopes(&windows, trend);
    take_out_steps(&windows);
    struct trend without_steps;
    find_slopes(&windows, &without_steps);
    const double slope = without_steps.slope_bytes;
    trend->z_order = find_order_statistic(&windows, slope);
    trend->z_drift = find_drift_statistic(&windows);
    trend->p = fmax(find_chance_above(trend->z_order), find_chance_above(trend->z_drift));
    if (slope <= 0 || trend->p > alpha) {
        return TREND_FLAT;
    }
    const enum trend_answer answer = judge_spread(&windows, trend);
    return answer == TREND_GROWS && has_been_as_high(all, first) ? TREND_BEFORE : answer;
}

/* Windows of equal length: the last floors that make no whole window join the last one. */
static size_t make_windows(const struct trend_question *question, struct windows *all)
{
    const size_t count = question->count;
    const size_t length = (count + question->window_count_max - 1) / question->window_count_max;
    all->count = count / length;
    for (size_t i = 0; i < all->count; i++) {
        const size_t end = i + 1 == all->count ? count : (i + 1) * length;
        uint64_t lowest = UINT64_MAX;
        for (size_t j = i * length; j < end; j++) {
            lowest = question->floors[j] < lowest ? question->floors[j] : lowest;
        }
        all->values[i] = (double)lowest;
    }
    return length;
}

static void divide_slopes(struct trend *trend, double by)
{
    trend->slope_low_bytes /= by;
    trend->slope_bytes /= by;
    trend->slope_high_bytes /= by;
}

/* Too few for chance to be told: each is above the one before. */
static enum trend_answer judge_few(const struct windows *all, struct trend *trend)
{
    const size_t last = all->count - 1;
    *trend = (struct trend){.window_count = (uint32_t)all->count, .p = 1};
    for (size_t i = 0; i < last; i++) {
        trend->rising_count += all->values[i + 1] > all->values[i];
    }
    find_slopes(all, trend);
    if (trend->rising_count < last) {
        return TREND_FLAT;
    }
    trend->rise_bytes = (uint64_t)(all->values[last] - all->values[0]);
    return TREND_GROWS;
}

enum trend_answer trend_test(const struct trend_question *question, struct trend *trend)
{
    struct windows all;
    enum trend_answer answer = TREND_SHORT;
    CHECK(question->count_min >= 2);
    CHECK(question->window_count_max >= TREND_FLOOR_COUNT_MIN &&
          question->window_count_max <= TREND_WINDOW_COUNT_MAX);
    if (question->count < question->count_min) {
        return TREND_SHORT;
    }
    const size_t length = make_windows(question, &all);
    if (all.count < TREND_FLOOR_COUNT_MIN) {
        answer = judge_few(&all, trend);
        divide_slopes(trend, (double)length);
        return answer;
    }
    for (size_t i = 0; i < BEGINNING_COUNT && answer != TREND_GROWS; i++) {
        const size_t first = all.count * (i + 1) / 4;
        if (all.count - first < WINDOW_COUNT_MIN && i > 0) {
            break;
        }
        answer = test_from(&all, first, question->chance / BEGINNING_COUNT, trend);
        trend->first *= length;
        divide_slopes(trend, (double)length);
    }
    return answer;
}

/* --- of a series --- */

/* A job's steps: what each falls back to, and the slot in which it does. */
struct floors {
    uint64_t *bytes; /* count of both */
    size_t *slots;
    size_t count;
};

static int64_t limit_bytes(uint64_t bytes)
{
    return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

/* A slot is two places of the curve. */
static void find_swings(const struct series *series, struct swings *swings)
{
    int64_t *curve = calloc(2 * series->count + 1, sizeof *curve);
    CHECK(curve != NULL);
    for (size_t i = 0; i < series->count; i++) {
        const struct series_slot *slot = &series->slots[i];
        curve[2 * i + !slot->is_floor_first] = limit_bytes(slot->floor_bytes);
        curve[2 * i + slot->is_floor_first] = limit_bytes(slot->top_bytes);
    }
    swings_init(swings, curve, 2 * series->count);
    free(curve);
}

static void add_floor(const struct series *series, size_t slot, struct floors *floors)
{
    floors->slots[floors->count] = slot;
    floors->bytes[floors->count++] = series->slots[slot].floor_bytes;
}

/* Takes floors from the place on to which the job falls back before its first settled step. */
static void take_floors(const struct series *series, const struct swings *swings,
                        enum trend_unit unit, struct floors *floors)
{
    const size_t base = swings->settled_first - 1;
    if (unit == TREND_OPS) {
        for (size_t k = base; k + 1 < swings->count; k++) {
            add_floor(series, swings->ends[k] / 2, floors);
        }
        return;
    }
    for (size_t i = swings->ends[base] / 2; i < series->count; i++) {
        add_floor(series, i, floors);
    }
}

/* Slopes a floor become slopes a unit. */
static enum trend_answer test_floors(const struct series *series, const struct floors *floors,
                                     struct trend *trend)
{
    const struct trend_question question = {floors->bytes, floors->count, TREND_STEP_COUNT_MIN,
                                            TREND_WINDOW_COUNT_MAX, TREND_CHANCE};
    const enum trend_answer answer = trend_test(&question, trend);
    if (answer == TREND_SHORT) {
        return answer;
    }
    const size_t last = floors->count - 1;
    const double slots = (double)(floors->slots[last] - floors->slots[0]);
    divide_slopes(trend, slots > 0 ? slots / (double)last * (double)series->slot_units : 1);
    trend->first = floors->slots[trend->first] * series->slot_units;
    return answer;
}

enum trend_answer trend_of_series(const struct series *series, enum trend_unit unit,
                                  struct trend *trend)
{
    struct swings swings;
    struct floors floors = {calloc(series->count + 1, sizeof *floors.bytes),
                            calloc(series->count + 1, sizeof *floors.slots), 0};
    CHECK(floors.bytes != NULL && floors.slots != NULL);
    *trend = (struct trend){0};
    find_swings(series, &swings);
    enum trend_answer answer = TREND_FILLS;
    if (unit == TREND_KNOWN_STEPS) {
        for (size_t i = 0; i < series->count; i++) {
            add_floor(series, i, &floors);
        }
        answer = test_floors(series, &floors, trend);
    } else if (swings.settled_count >= SETTLED_STEP_COUNT_MIN) {
        take_floors(series, &swings, unit, &floors);
        answer = test_floors(series, &floors, trend);
    }
    swings_deinit(&swings);
    free(floors.bytes);
    free(floors.slots);
    return answer;
}

const char *trend_answer_name(enum trend_answer answer)
{
    static const char *const names[] = {[TREND_GROWS] = "grows",
                                        [TREND_SHORT] = "too short to decide",
                                        [TREND_FLAT] = "does not grow beyond chance",
                                        [TREND_STEPS] = "grew in a few steps",
                                        [TREND_PLATEAU] = "grew, and stopped",
                                        [TREND_BEFORE] = "was as high before",
                                        [TREND_FILLS] = "is still filling"};
    CHECK((size_t)answer < sizeof names / sizeof names[0]);
    return names[answer];
}

/* With what came behind it. */
static void join_slot(struct series_slot *slot, const struct series_slot *behind)
{
    const bool falls = behind->floor_bytes < slot->floor_bytes;
    const bool rises = behind->top_bytes > slot->top_bytes;
    if (falls && rises) {
        *slot = *behind;
        return;
    }
    slot->floor_bytes = falls ? behind->floor_bytes : slot->floor_bytes;
    slot->top_bytes = rises ? behind->top_bytes : slot->top_bytes;
    slot->is_floor_first = rises || (!falls && slot->is_floor_first);
}

static void halve_slots(struct series *series)
{
    for (size_t i = 0; i < SERIES_SLOT_COUNT_MAX / 2; i++) {
        struct series_slot slot = series->slots[2 * i];
        join_slot(&slot, &series->slots[2 * i + 1]);
        series->slots[i] = slot;
    }
    series->count = SERIES_SLOT_COUNT_MAX / 2;
    series->slot_units *= 2;
}

void series_widen(struct series *series, uint64_t bytes)
{
    CHECK(series->count > 0);
    join_slot(&series->slots[series->count - 1], &(struct series_slot){bytes, bytes, false});
}

void series_add(struct series *series, uint64_t bytes)
{
    if (series->count == 0) {
        series->slot_units = 1;
    }
    const uint64_t slot_units = series->slot_units;
    if (series->unit_count++ % slot_units != 0) {
        series_widen(series, bytes);
        return;
    }
    if (series->count == SERIES_SLOT_COUNT_MAX) {
        halve_slots(series);
    }
    series->slots[series->count++] = (struct series_slot){bytes, bytes, false};
    CHECK(series->count <= SERIES_SLOT_COUNT_MAX);
}
