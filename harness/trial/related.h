/* The rule `relation`: a list is run again, and after it a related one; the target must answer both
 * alike.  Never two runs at once: a target may have one device in a process.  docs/promise.md says
 * what is related and what is compared. */
#ifndef HARNESS_TRIAL_RELATED_H
#define HARNESS_TRIAL_RELATED_H

#include "harness/run/run.h"
#include "harness/run/trial.h"

/* The property that a related list has of its own. */
enum related {
    RELATED_NAMES = 0, /* other ids of blocks and programs */
    RELATED_SIZES,     /* twice the capacity and the granule, and every size, address, alignment */
    RELATED_COUNT
};

/* Nothing ended the trial, whatever else it found, and its list gives the same observations when it
 * is run again.  Runs it with both related lists.  True when the target answers one otherwise: then
 * *broken is the verdict.  Lists with lanes are not asked about.  Three runs at most, five where it
 * answers otherwise. */
bool related_breaks(const struct target *target, const struct trial *trial, struct verdict *broken);

/* One related list alone.  *compared_count, where it is not NULL: the ops up to which both were in
 * the same state. */
bool related_breaks_one(const struct target *target, const struct trial *trial,
                        enum related related, struct verdict *broken, size_t *compared_count);

/* The first: the target's contract and options say that it does not care for sizes as such.  The
 * second: the op as it is asked of a device of twice the size.  False: it cannot be. */
bool related_sizes_scale(const struct setup *setup);
bool related_scale_op(const struct op *op, struct op *scaled);

#endif
