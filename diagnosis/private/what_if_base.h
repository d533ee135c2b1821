/* The list that remedies start from: resolved, up to an out-of-memory, without what did nothing. */
#ifndef DIAGNOSIS_PRIVATE_WHAT_IF_BASE_H
#define DIAGNOSIS_PRIVATE_WHAT_IF_BASE_H

#include "diagnosis/what_if_row.h"

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

#endif
