/* The device and the allocator's settings, drawn anew for each trial: a fault that needs one
 * capacity, granule, contract or order is found only by runs that have it. */
#ifndef SCENARIOS_PRIVATE_DEVICE_DRAW_H
#define SCENARIOS_PRIVATE_DEVICE_DRAW_H

#include "harness/base/random.h"
#include "harness/op/setup.h"

/* What a scenario needs of its device; zero-initialise, then set. */
struct device_options {
    const char *chip;             /* whose capacity is one of those drawn; never NULL */
    uint64_t granules_min;        /* of the capacity, when it is free; 0 = 1 */
    bool must_defragment;         /* draws no contract without moves */
    bool must_evict_for_programs; /* draws program_evicts_program=yes only */
    bool is_small;                /* a free capacity is small in every trial */
};

/* A small device has 2 to 256 granules, or as few as the scenario can do with: every place and
 * every length comes soon there. */
enum { DEVICE_SMALL_GRANULES_MIN = 2, DEVICE_SMALL_GRANULES_MAX = 256 };

/* Sets what is still open in setup: capacity (when it is free; a small one when it is 0), granule,
 * and, for targets that have these options (hbm and the planted ones), defrag, order and
 * program_evicts_program.  What the user set stays. */
void device_draw(struct random *random, struct setup *setup, bool capacity_is_free,
                 const struct device_options *options);

#endif
