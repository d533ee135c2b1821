/* The list that remedies start from, and the run that measures a variant. */
#ifndef DIAGNOSIS_PRIVATE_WHAT_IF_PARTS_H
#define DIAGNOSIS_PRIVATE_WHAT_IF_PARTS_H

#include "diagnosis/forecast.h"
#include "diagnosis/what_if_row.h"

/* --- The list that remedies start from: resolved, up to an out-of-memory, without what
 * did nothing --- */

struct what_if_base {
    struct setup setup; /* with the capacity that the run completed */
    struct target_contract contract;
    struct op_list ops;
    bool *has_failed; /* by op, see struct remedy_case */
    uint32_t op;      /* see struct what_if */
    size_t left_out_count;
    bool is_whole, has_lanes;
};

/* Runs the list once.  Initialises *base in every case; the caller deinitialises it. */
enum what_if_result what_if_base_init(struct what_if_base *base, const struct target *target,
                                      const struct setup *setup, const struct op_list *ops);
void what_if_base_deinit(struct what_if_base *base);

/* --- Runs one variant and measures it --- */

/* Sets what *row says of a run of the list: end, capacity, peak, headroom, hole, failure and
 * op_count; note only where the target refused the setup.  The rest of *row is not touched.
 * *forecast: where the list would run out on the host that holds most, if it went on; what no run
 * had, because it failed before, is not looked at.  NULL: it is not wanted.  Deterministic. */
void what_if_measure(const struct target *target, const struct setup *setup,
                     const struct op_list *ops, struct what_if_row *row, struct forecast *forecast);

#endif
