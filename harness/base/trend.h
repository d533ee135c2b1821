/* The one judge of growth: does a series keep growing, since when, and by how much?  Takes neither
 * first fillings, warm-up, phases, single steps nor cycles for growth. */
#ifndef HARNESS_BASE_TREND_H
#define HARNESS_BASE_TREND_H

#include "harness/base/series.h"

#include <stddef.h>
#include <stdint.h>

enum trend_answer {
    TREND_GROWS = 0,
    TREND_SHORT,   /* fewer floors than count_min: nothing can be said */
    TREND_FLAT,    /* chance explains the order, or the sum of the differences */
    TREND_STEPS,   /* what grew, grew in few windows */
    TREND_PLATEAU, /* it grew, and has stopped */
    TREND_BEFORE,  /* it has been as high before, and came down again */
    TREND_FILLS    /* of a series: no steps have settled; what rises is a first filling */
};

/* With fewer floors than TREND_FLOOR_COUNT_MIN chance is not tested: they grow where each is above
 * the one before. */
enum { TREND_FLOOR_COUNT_MIN = 8, TREND_WINDOW_COUNT_MAX = 64 };
/* The chance of TREND_GROWS where nothing grows that those ask for who look at one series. */
#define TREND_CHANCE 0.05

/* floors[count]: the least value in each of count equal times.  chance (0..1): that of TREND_GROWS
 * where nothing grows; who tests several series divides it by their number. */
struct trend_question {
    const uint64_t *floors;
    size_t count, count_min; /* count_min at least 2 */
    size_t window_count_max; /* 8..TREND_WINDOW_COUNT_MAX; fewer see through noise that lasts */
    double chance;
};

/* The answer's details.  TREND_SHORT and TREND_FILLS set nothing; the others describe the last
 * beginning that was tried.  first: the floor from which on it grows.  slope_bytes: per floor,
 * Theil and Sen's median of the slopes between all windows since then; nine of ten of these lie
 * between slope_low_bytes and slope_high_bytes. */
struct trend {
    size_t first;
    uint64_t rise_bytes; /* from the first eighth after that to the last */
    double slope_low_bytes, slope_bytes, slope_high_bytes;
    double z_order; /* Mann and Kendall, the variance corrected for ties and autocorrelation */
    double z_drift; /* sum of the differences over the root of the sum of their squares */
    double p;       /* the larger of the two chances, upper bounds; 1 where chance is not tested */
    uint32_t window_count,
        rising_count; /* windows after `first`, and those in which what never went away grew */
};

/* Up to window_count_max windows of equal length are made of the floors.  The first quarter counts
 * as warm-up; where that is not enough, the first half.  Then up to 8 steps are taken out
 * (differences that are more than 6 median deviations from the median difference).  It grows when
 * all of these hold for what is left: neither a stationary series with that autocorrelation nor a
 * random walk does so by that chance; what never went away again grew in at least two in five of
 * the windows, in each quarter, and in the last eighth; and before the second half it never was as
 * high as it always is at the end.
 *
 * Sources: H. Mann, Econometrica 13 (1945); P. Sen, JASA 63 (1968); K. Hamed and A. Rao, J.
 * Hydrology 204 (1998). O(count + 64 * 64 * log 64). */
enum trend_answer trend_test(const struct trend_question *question, struct trend *trend);

/* The meaning of one unit of a series. */
enum trend_unit {
    TREND_OPS = 0,    /* each cycle counts as a step (harness/base/swings.h) */
    TREND_SEEN_STEPS, /* that repeat, or parts that stand for them */
    TREND_KNOWN_STEPS /* the job numbers them */
};

/* Tests whether the floors that a job's steps fall back to grow, as above with TREND_CHANCE.  What
 * comes before the steps settle is the first filling; TREND_FILLS: fewer than two settle.  For
 * known steps the caller leaves the filling out.  The last cycle does not count: it may be cut off,
 * or free everything.  TREND_SHORT: fewer than TREND_STEP_COUNT_MIN steps are left.  first and the
 * slopes are in units of the series.  O(slots). */
enum { TREND_STEP_COUNT_MIN = 4 };
enum trend_answer trend_of_series(const struct series *series, enum trend_unit unit,
                                  struct trend *trend);

/* Sorts the values, count at least 1; returns the one below which so many percent of the others
 * lie. */
double trend_quantile(double *values, size_t count, unsigned percent);

/* The answer in a few words: "grows", "too short to tell", ... */
const char *trend_answer_name(enum trend_answer answer);

#endif
