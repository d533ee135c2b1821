/* Runs one variant and measures it. */
#ifndef DIAGNOSIS_PRIVATE_WHAT_IF_MEASURE_H
#define DIAGNOSIS_PRIVATE_WHAT_IF_MEASURE_H

#include "diagnosis/forecast.h"
#include "diagnosis/what_if_row.h"

/* Sets what *row says of a run of the list: end, capacity, peak, headroom, hole, failure and
 * op_count; note only where the target refused the setup.  The rest of *row is not touched.
 * *forecast: where the list would run out on the host that holds most, if it went on; what no run
 * had, because it failed before, is not looked at.  NULL: it is not wanted.  Deterministic. */
void what_if_measure(const struct target *target, const struct setup *setup,
                     const struct op_list *ops, struct what_if_row *row, struct forecast *forecast);

#endif
