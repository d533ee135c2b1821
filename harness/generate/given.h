/* A list that was made before the trial, as the source of its ops.  What is slipped in between
 * gives its ops other numbers: references follow. */
#ifndef HARNESS_GENERATE_GIVEN_H
#define HARNESS_GENERATE_GIVEN_H

#include "harness/op/op.h"

/* ops outlives it; next <= ops->count.  numbers: of each op that was handed out, the number that it
 * got in the run; owned. */
struct given {
    const struct op_list *ops;
    size_t next;
    uint32_t *numbers;
};

/* ops NULL: an empty one. */
void given_init(struct given *given, const struct op_list *ops);
void given_deinit(struct given *given);

/* Hands out the next op, which gets the number op_number in the run.  False: there is none left.  A
 * reference to an op that comes later names nothing (OP_NONE); relative ones stay. */
bool given_next(struct given *given, uint32_t op_number, struct op *op);

#endif
