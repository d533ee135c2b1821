/* Decides if a request fits where nobody learns where blocks lie: by what they take together. */
#ifndef HARNESS_ORACLE_PRIVATE_SUMS_H
#define HARNESS_ORACLE_PRIVATE_SUMS_H

#include "harness/oracle/reach.h"

enum sums_answer {
    SUMS_FIT,
    SUMS_LACK, /* it needs more than there is */
    SUMS_OPEN  /* hidden ranges: it depends on where they lie */
};

/* Judges a reached state whose placement is not ranges.  Pages: any free granules serve.  Hidden
 * ranges: k blocks leave at most k + 1 holes, so the largest has at least free / (k + 1). */
enum sums_answer sums_judge(const struct reach *reach);
/* Return the bytes that blocks and the stack take, and those that are left. */
uint64_t sums_taken_bytes(const struct reach *reach);
uint64_t sums_free_bytes(const struct reach *reach);

#endif
