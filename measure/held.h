/* A target that is judged by another contract than it declares, so that two targets can be judged
 * by the same one. */
#ifndef MEASURE_HELD_H
#define MEASURE_HELD_H

#include "harness/op/setup.h"
#include "harness/target.h"

enum held_kind {
    HELD_DECLARED = 0, /* by its own */
    HELD_NONE,         /* by its own without size classes: each block has its request rounded up to
                          granules, with its header, at any multiple of the granule */
    HELD_ROUNDING,     /* by its own with another rounding */
    HELD_CONTRACT      /* by another one altogether */
};

struct held {
    enum held_kind kind;
    struct target_rounding rounding; /* HELD_ROUNDING */
    struct target_contract contract; /* HELD_CONTRACT; HELD_NONE reads its header_bytes */
};

/* Makes *judged the same target, and puts into *setup what its contract is to be.  held is copied;
 * target outlives *judged.  One such target can be used at a time, in one thread: open has no other
 * way to know the contract. */
void held_make(const struct held *held, const struct target *target, struct target *judged,
               struct setup *setup);

#endif
