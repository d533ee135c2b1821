/* Where a list whose memory grows from step to step would run out, if it went on. */
#ifndef DIAGNOSIS_FORECAST_H
#define DIAGNOSIS_FORECAST_H

#include "diagnosis/remedy_steps.h"

/* Steps as remedy_steps.h finds them, numbered from 1; the last one may be cut off and is not
 * looked at.  Without steps the list is cut into FORECAST_PART_COUNT equal parts, which stand for
 * them. */
enum { FORECAST_STEP_COUNT_MIN = 6, FORECAST_PART_COUNT = 32 };

struct forecast {
    bool grows; /* what every step falls back to rises, and goes on to; otherwise the rest is 0.
                   False where most steps give nothing back */
    bool has_steps;
    uint64_t step_count; /* that were looked at */
    uint64_t step_ops;   /* on the average */
    uint64_t step_bytes; /* by which a step leaves more than the one before, on the median */
    uint64_t at;         /* the step in which capacity_bytes would be exceeded */
    uint64_t from, to; /* the same by the slope and the peaks that are least and most favourable */
    uint64_t at_op;    /* the op with which that step begins, about */
};

/* in_use_bytes: what is in use after each of op_count ops.  capacity_bytes: what may be in use.
 * Memory that cannot be used because it lies in pieces is not counted.  O(ops). */
void forecast_take(const uint64_t *in_use_bytes, size_t op_count, const struct remedy_steps *steps,
                   uint64_t capacity_bytes, struct forecast *forecast);

#endif
