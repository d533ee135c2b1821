/* Makes a failing list shorter and never lets it become another finding: each shorter list is tried, and counts only
 * when it ends in the same signature. */
#ifndef HARNESS_SHRINK_H
#define HARNESS_SHRINK_H

#include "harness/run.h"
#include "harness/signature.h"

/* How a list is tried. */
struct shrink_try {
    void *context;
    /* True only when ops end in the finding that is kept: then *ops is the list as it ran, references resolved and
     * cut behind the op that broke, and *first is its verdict.  Otherwise both stay as they are. */
    bool (*is_same)(void *context, struct op_list *ops, struct verdict *first);
    uint64_t granule_bytes; /* sizes are made simpler in these units; 0 = 1 */
};

/* A way to try: in this process, for rules that a verdict names.  The context of shrink_replay. */
struct shrink_replaying {
    const struct target *target;
    const struct setup *setup;
    char signature[SIGNATURE_BYTES]; /* to keep; "" = what the first list breaks, whatever that is */
};
bool shrink_replay(void *context, struct op_list *ops, struct verdict *first);

struct shrink_result {
    struct op_list ops;   /* the caller deinits */
    struct verdict first; /* what the shrunk list breaks */
    uint64_t replays;     /* lists tried */
    bool is_minimal;      /* no single op can be removed */
};

/* ops must end in the finding: returns false, with nothing to deinit, when they do not.  replay_count_max bounds the
 * work.  Removes chunks, then single ops, then makes sizes, delays and alignments simpler.  Of a list
 * with lanes the schedule goes first, as far as it can, and as few lanes are left as can be. */
bool shrink(const struct shrink_try *attempt, const struct op_list *ops, uint64_t replay_count_max,
            struct shrink_result *result);

#endif
