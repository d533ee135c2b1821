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

/* The target of that name, one with a race (targets/threaded/races.h), one of
 * targets/segments/segments.h and an adapter (targets/adapters/adapters.h) included; NULL when
 * there is none. */
const struct target *target_find(const char *name);

#endif
