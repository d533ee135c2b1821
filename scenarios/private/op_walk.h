/* A way through a stretch of ops, each number once, in one of several orders: which of thousands of
 * blocks goes next, with no list of them. */
#ifndef SCENARIOS_PRIVATE_OP_WALK_H
#define SCENARIOS_PRIVATE_OP_WALK_H

#include "harness/base/random.h"

enum op_walk_order {
    OP_WALK_FORWARD = 0, /* first in, first out */
    OP_WALK_BACKWARD,    /* last in, first out */
    OP_WALK_ALTERNATING, /* every second one, then the others */
    OP_WALK_SHUFFLED,
    OP_WALK_ORDER_COUNT
};

/* Plain data: the numbers first + (start + i * stride) % length for i from index to length - 1. */
struct op_walk {
    uint32_t first, length;
    uint32_t index, start, stride; /* stride and length have no common factor */
};

/* From the ops [first, end) in that order; none when end <= first.  The walk may name one more
 * number, end itself. */
void op_walk_begin(struct op_walk *walk, struct random *random, uint32_t first, uint32_t end,
                   enum op_walk_order order);

/* The next number.  False: none is left. */
bool op_walk_next(struct op_walk *walk, uint32_t *number);

#endif
