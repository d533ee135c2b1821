/* Which rounding describes the sizes of blocks that were seen: the tightest that a contract can
 * declare. */
#ifndef INFER_SIZE_FIT_H
#define INFER_SIZE_FIT_H

#include "harness/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One request and the block that it got: 1 <= asked_bytes <= block_bytes <= 2^63. */
struct size_pair {
    uint64_t asked_bytes, block_bytes;
};

struct size_fit {
    struct target_rounding rounding; /* no pair is above it; ROUNDING_ANY: nothing fits */
    uint64_t slack_bytes;            /* the most that a block is below what it allows; 0 = exact */
};

/* Fits the rounding to pairs[count].  Of all that allow every pair it is the one whose bounds are
 * lowest in sum, and of equals the simplest: granules before classes, few classes before many.
 * limit_bytes: an overhead of this or more is no fit.  granule_bytes: a power of two up to 2^30.
 * Pure. */
struct size_fit size_fit_find(const struct size_pair *pairs, size_t count, uint64_t granule_bytes,
                              uint64_t limit_bytes);

#endif
