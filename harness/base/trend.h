/* The one judge of growth: does a series keep growing, since when, and by how much?  Takes neither
 * first fillings, warm-up, phases, single steps nor cycles for growth. */
#ifndef HARNESS_BASE_TREND_H
#define HARNESS_BASE_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory in use over any number of units, each an op or a step of a job, in bounded memory. */

enum { SERIES_SLOT_COUNT_MAX = 4096 }; /* even */

/* The least and the most that was in use, and which of them came first. */
struct series_slot {
    uint64_t floor_bytes, top_bytes;
    bool is_floor_first;
};

/* A plain value of 96 KiB; all zero = nothing was added.  When the slots are full every two become
 * one, and from then on a slot stands for twice as many units; the last one may not be full. */
struct series {
    size_t count;
    uint64_t unit_count, slot_units; /* slot_units: of a slot; 0 as long as count is */
    struct series_slot slots[SERIES_SLOT_COUNT_MAX];
};

/* Another unit, with that many bytes in use.  O(1) on the average. */
void series_add(struct series *series, uint64_t bytes);
/* Adds a value to the last unit: a step has many ops.  The series has at least one unit. */
void series_widen(struct series *series, uint64_t bytes);

/* Finds where a curve falls back to: each lowest place between two rises ends a cycle.  The steps
 * of a job show like that without a mark: each takes memory and returns it. */

/* A cycle is a rise and a fall by at least half of the largest fall of the curve.  A step has such
 * rises and falls within itself, too, one for each layer or tensor, but smaller ones.  So where
 * the large ones are few, cycles may be SWINGS_LEVEL_FACTOR times smaller, and then
 * SWINGS_PER_STEP of them count for one step; so on for each level. */
enum { SWINGS_LEVEL_COUNT = 4, SWINGS_LEVEL_FACTOR = 4, SWINGS_PER_STEP = 8 };

struct swings {
    uint32_t *ends; /* count of them, ascending: the place of the least value after a fall */
    size_t count;
    unsigned level;       /* that gives the most steps; the lowest of equal ones */
    uint64_t swing_bytes; /* by which a cycle rises and falls, at least */
    /* So many steps in a row left behind less than half of what a cycle swings, each: the job was
     * past its first filling, and its steps repeat.  The layers of one step, or what is made at the
     * beginning, leave more. */
    uint64_t settled_count;
    size_t settled_first; /* the first cycle of them; at least 1 where there are any */
};

/* bytes[count], below 2^63, may be NULL if count is 0.  The caller ends it with swings_deinit().
 * O(count). */
void swings_init(struct swings *swings, const int64_t *bytes, size_t count);
void swings_deinit(struct swings *swings);

/* Returns how many steps so many cycles are: a cautious count, never more than the cycles. */
uint64_t swings_count_steps(const struct swings *swings, size_t cycle_count);

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
    TREND_OPS = 0,    /* each cycle counts as a step (struct swings) */
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
