/* The allocators that hbmstress knows by name: the reference, two baselines, one for many threads,
 * and the planted defects. */
#ifndef TARGETS_TARGETS_H
#define TARGETS_TARGETS_H

#include "harness/target.h"

/* Ends with NULL.  Adding a target is one file and one line in targets.c. */
extern const struct target *const targets[];

/* The target of that name, one with a race (targets/threaded/races.h) included; NULL when there is
 * none. */
const struct target *target_find(const char *name);

/* The rows of the table. */
extern const struct target target_hbm;
extern const struct target target_first_fit;
extern const struct target target_null;
extern const struct target target_threaded;

#endif
