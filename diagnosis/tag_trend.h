/* The trend of what a tag never gives back, as the causes of growth see it: for who draws it. */
#ifndef DIAGNOSIS_TAG_TREND_H
#define DIAGNOSIS_TAG_TREND_H

#include "diagnosis/history.h"

/* The line at_bytes + slope_bytes * (op - first_op), for ops first_op..end_op. */
struct tag_trend {
    uint64_t first_op, end_op;
    double slope_bytes; /* an op */
    uint64_t at_bytes;  /* at first_op */
};

/* False: the floors of the tag on that host do not keep growing (harness/base/trend.h).
 * O(tags * samples). */
bool tag_trend_find(const struct history *history, uint32_t host, uint8_t tag,
                    struct tag_trend *trend);

#endif
