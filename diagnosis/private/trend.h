/* Does a series keep growing?  Takes neither warm-up, phases, steps nor periods for one. */
#ifndef DIAGNOSIS_PRIVATE_TREND_H
#define DIAGNOSIS_PRIVATE_TREND_H

#include <stddef.h>
#include <stdint.h>

enum trend_answer {
    TREND_GROWS = 0,
    TREND_SHORT,   /* fewer than TREND_FLOOR_COUNT_MIN floors: nothing can be said */
    TREND_FLAT,    /* chance explains the order, or the sum of the differences */
    TREND_STEPS,   /* what grew, grew in few windows */
    TREND_PLATEAU, /* it grew, and has stopped */
    TREND_BEFORE   /* it has been as high before, and came down again */
};
enum { TREND_FLOOR_COUNT_MIN = 64, TREND_WINDOW_COUNT_MAX = 64 };

/* first: the floor from which on it grows, at a quarter or at half of the series.  Of TREND_SHORT
 * nothing is set, of the others what is known of the last beginning that was tried. */
struct trend {
    size_t first;
    uint64_t rise_bytes; /* from the first eighth after that to the last */
    double slope_bytes;  /* per floor: Theil and Sen's median of all slopes */
    double z_order;      /* Mann and Kendall, the variance corrected for ties and autocorrelation */
    double z_drift;      /* sum of the differences over the root of the sum of their squares */
    double p;            /* the larger of the two chances, upper bounds */
    uint32_t window_count,
        rising_count; /* windows after `first`, and those in which what never went away grew */
};

/* floors[count]: the least value in each of count equal times.  alpha (0..1): the chance of
 * TREND_GROWS where nothing grows; whoever tests several series divides it by their number.
 *
 * Up to 64 windows of equal length are made of the floors.  The first quarter counts as warm-up;
 * where that is not enough, the first half.  Then up to 8 steps are taken out (differences that are
 * more than 6 median deviations from the median difference).  It grows when all of these hold for
 * what is left: neither a stationary series with that autocorrelation nor a random walk does so by
 * a chance of alpha; what never went away again grew in at least two in five of the windows, in
 * each quarter, and in the last eighth; and before the second half it never was as high as it
 * always is at the end.
 *
 * Sources: H. Mann, Econometrica 13 (1945); P. Sen, JASA 63 (1968); K. Hamed and A. Rao, J.
 * Hydrology 204 (1998). O(count + 64 * 64 * log 64). */
enum trend_answer trend_test(const uint64_t *floors, size_t count, double alpha,
                             struct trend *trend);

/* The answer in a few words: "grows", "too short to tell", ... */
const char *trend_answer_name(enum trend_answer answer);

#endif
