/* Makes a failing list shorter: the same rule stays broken, with the same verdict class. */
#ifndef HARNESS_SHRINK_H
#define HARNESS_SHRINK_H

#include "harness/run.h"

struct shrink_result {
    struct op_list ops;   /* the caller deinits */
    struct verdict first; /* what the shrunk list breaks */
    uint64_t replays;     /* lists tried */
    bool is_minimal;      /* no single op can be removed */
};

/* ops must break a promise on target with setup: returns false when it does not.  replay_count_max bounds
 * the work.  Removes chunks, then single ops, then makes sizes, delays and alignments simpler. */
bool shrink(const struct target *target, const struct setup *setup, const struct op_list *ops,
            uint64_t replay_count_max, struct shrink_result *result);

#endif
