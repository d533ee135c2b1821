/* The allocators that hbmstress knows by name: the reference, two baselines, one for many threads,
 * and the planted defects. */
#ifndef TARGETS_TARGETS_H
#define TARGETS_TARGETS_H

#include "harness/target.h"

#define TARGET(name) extern const struct target target_##name;
#include "targets/list.h"
#undef TARGET

/* The targets of targets/list.h, then those of targets/plants/list.h; ends with NULL. */
extern const struct target *const targets[];

/* The targets threaded, segments and caching with one planted defect each; `breaks` names the rule
 * that must catch it.  They are no rows of targets[], whose plants are caught by one call after the
 * other, are made of libhbm and have its options.  A race is right as long as calls do not overlap,
 * and wrong in some interleaving of those that do.  Each ends with NULL. */
extern const struct target *const races[];
extern const struct target *const segments_plants[];
extern const struct target *const caching_plants[];

/* The tables of all targets, and the adapters (targets/adapters/adapters.h); ends with NULL. */
extern const struct target *const *const target_tables[];

/* The target of that name in any table; NULL when there is none. */
const struct target *target_find(const char *name);

#endif
