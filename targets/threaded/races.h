/* The target threaded with one race each: right as long as calls do not overlap, wrong in some
 * interleaving of those that do.  `breaks` of each names the rule that must catch it then.  They
 * are no rows of targets[], whose plants are caught by one call after the other; target_find()
 * finds them. */
#ifndef TARGETS_THREADED_RACES_H
#define TARGETS_THREADED_RACES_H

#include "harness/target.h"

/* Ends with NULL. */
extern const struct target *const races[];

#endif
