/* Finds how near a job is to the largest batch that fits.  It makes the blocks that live within a
 * step larger or smaller, and runs each size. */
#ifndef DIAGNOSIS_LARGEST_BATCH_H
#define DIAGNOSIS_LARGEST_BATCH_H

#include "diagnosis/what_if_row.h"

/* In percent of the batch that the list has. */
enum { LARGEST_BATCH_PERCENT_MAX = 6400 };

/* An estimate: what lives within a step, and the stacks of the programs of the steps, are taken to
 * grow with the batch, and nothing else.  is_found: `fits` percent fits in a run, and `fails` does
 * not; fails is 0 where nothing that was tried fails, fits 0 where nothing fits. */
struct largest_batch {
    bool is_found;
    uint64_t fits, fails;
    uint64_t scaled_bytes;  /* in all, of what is taken to grow, as it is */
    struct what_if_row row; /* how `fits` ran */
};

/* False, and *found is all 0: the target refuses, the list fails of something else, has no steps,
 * nothing lives within them, it grows from step to step or fills for the first time, or two runs
 * are more than ops_max ops. Runs the target in this process, ops_max ops in all at most: then fits
 * and fails lie further apart than one percent. */
bool largest_batch_find(const struct target *target, const struct setup *setup,
                        const struct op_list *ops, uint64_t ops_max, struct largest_batch *found);

/* Appends to *to what of the list can be run, up to an out-of-memory, with a batch of so many
 * percent, as above.  False: the target refuses, or nothing lives within a step.  Runs the target
 * in this process. */
bool largest_batch_make(const struct target *target, const struct setup *setup,
                        const struct op_list *ops, uint64_t percent, struct op_list *to);

/* The list with a batch of so many percent, 1 to LARGEST_BATCH_PERCENT_MAX.  *to: initialised. */
void largest_batch_scale(const struct remedy_case *given, uint64_t percent, struct op_list *to);

#endif
