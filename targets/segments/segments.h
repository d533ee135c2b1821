/* The target segments with one planted defect each; `breaks` of each names the rule that must catch
 * it.  They are no rows of targets[], whose plants are made of libhbm and have its options;
 * target_find() finds them. */
#ifndef TARGETS_SEGMENTS_SEGMENTS_H
#define TARGETS_SEGMENTS_SEGMENTS_H

#include "harness/target.h"

/* Ends with NULL. */
extern const struct target *const segments_plants[];

#endif
