/* Forecasts where a list whose memory grows from step to step would run out, if it went on. */
#ifndef DIAGNOSIS_FORECAST_H
#define DIAGNOSIS_FORECAST_H

#include "diagnosis/remedy_steps.h"

/* Steps as remedy_steps.h finds them, numbered from 1; the last one may be cut off and is not
 * looked at.  Without steps the list is cut into FORECAST_PART_COUNT equal parts, which stand for
 * them. */
enum { FORECAST_STEP_COUNT_MIN = 6, FORECAST_PART_COUNT = 32 };

/* A line for the least memory in use in a step: it grows by slope each step and has value at the
 * last step that was looked at. height is how far a step rises above it.  All are in bytes. */
struct forecast_line {
    double slope, value, height;
};

/* The step, from 1, in which a list that grows is out of memory: about at, between from and to. */
struct projection {
    uint64_t at, from, to;
};

struct forecast {
    bool grows; /* what the steps fall back to grows (trend_of_series()), by nine of ten slopes;
                   otherwise the rest is 0 */
    bool fills; /* no steps settled: what was seen is the first filling of the device */
    bool has_steps;
    uint64_t step_count;    /* that were looked at */
    uint64_t step_ops;      /* on the average */
    uint64_t step_bytes;    /* by which a step leaves more than the one before, on the median */
    struct projection full; /* capacity_bytes would be exceeded; the bounds are by the slope and the
                               peaks that are least and most favourable */
    uint64_t at_op;         /* the op with which that step begins, about */
    struct forecast_line lines[3]; /* the most favourable, the median, the least favourable */
};

/* in_use_bytes: what is in use after each of op_count ops.  capacity_bytes: what may be in use.
 * Memory that cannot be used because it lies in pieces is not counted.  O(ops). */
void forecast_take(const uint64_t *in_use_bytes, size_t op_count, const struct remedy_steps *steps,
                   uint64_t capacity_bytes, struct forecast *forecast);

/* Computes the peak in use in that step, which is step_count or later, if memory were large enough:
 * the least, the median, the most.  The list grows. */
void forecast_peak(const struct forecast *forecast, uint64_t step, uint64_t peak_bytes[3]);

#endif
