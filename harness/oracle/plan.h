/* The plan that gives a request its place: frees to await, programs to evict, and blocks to move,
 * where and in which order.  The cheapest that is found, in the order drain, move, evict. */
#ifndef HARNESS_ORACLE_PLAN_H
#define HARNESS_ORACLE_PLAN_H

#include "harness/oracle/packing/packing.h"
#include "harness/oracle/proof.h"
#include "harness/oracle/reach.h"

/* Memory that is kept from one plan to the next. */
struct planner;
struct planner *planner_create(void);
void planner_destroy(struct planner *planner);

/* A request gets its place by emptying a window only in so many of those with the fewest bytes. */
enum { PLAN_WINDOW_COUNT_MAX = 16 };

enum plan_result {
    PLAN_FOUND = 0,
    PLAN_NONE,   /* no mitigation helps */
    PLAN_UNKNOWN /* a budget ended before a plan was found or refuted */
};
/* Finds the plan that needs the least of the mitigations: none; else draining; else moving; else
 * evicting, the fewest programs and of those the least bytes.  nodes_max bounds the packing of each
 * step, and all choices of programs together: beyond it, and beyond some hundred choices, more may
 * go than must.  Moved bytes are the least that was found, not the least there is.  *plan belongs
 * to the planner until it is used again. */
enum plan_result planner_find(struct planner *planner, const struct oom *oom, uint64_t nodes_max,
                              struct proof_plan *plan);
/* Finds in the same way what the plan costs alone: it has no moves, and none is staged. */
enum plan_result planner_price(struct planner *planner, const struct oom *oom, uint64_t nodes_max,
                               struct proof_plan *plan);

#endif
