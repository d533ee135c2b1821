/* The target caching with one planted defect each; `breaks` of each names the rule that must catch
 * it.  They are no rows of targets[]; target_find() finds them. */
#ifndef TARGETS_CACHING_CACHING_H
#define TARGETS_CACHING_CACHING_H

#include "harness/target.h"

/* Ends with NULL. */
extern const struct target *const caching_plants[];

#endif
