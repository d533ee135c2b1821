/* Where everything goes in a reached state so that the request has its place, with few bytes moved.
 */
#ifndef HARNESS_ORACLE_PRIVATE_PLAN_LAYOUT_H
#define HARNESS_ORACLE_PRIVATE_PLAN_LAYOUT_H

#include "harness/oracle/plan.h"
#include "harness/oracle/private/layout.h"
#include "harness/oracle/private/repack.h"

void layout_deinit(struct layout *layout);

/* FOUND, NONE, or UNKNOWN when the packing's budget nodes_max ended. */
enum plan_result layout_find(struct layout *layout, const struct reach *reach,
                             struct repack *repack, uint64_t nodes_max);
/* The same answer without a layout, at a fraction of the cost; *nodes_left becomes what is left of
 * the budget. */
enum plan_result layout_exists(const struct reach *reach, struct repack *repack,
                               uint64_t *nodes_left);

#endif
