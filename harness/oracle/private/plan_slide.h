/* The cheapest layout of a reached state in which all blocks keep their order. */
#ifndef HARNESS_ORACLE_PRIVATE_PLAN_SLIDE_H
#define HARNESS_ORACLE_PRIVATE_PLAN_SLIDE_H

#include "harness/oracle/private/layout.h"

/* Sets to, address and moved_bytes of a layout that has room for the ranges of the reach, of which
 * none is in host memory.  False: there is none.  O(ranges), and what it takes to price the
 * insertions that may be cheaper than the best before them, which is bounded. */
bool slide_find(struct layout *layout, const struct reach *reach);

#endif
