/* The steps of a list: the part of it that repeats.  A log says nothing of steps, so they are
 * looked for. */
#ifndef DIAGNOSIS_REMEDY_STEPS_H
#define DIAGNOSIS_REMEDY_STEPS_H

#include "diagnosis/remedy_lives.h"
#include "harness/op/op.h"

/* A list of training or serving steps makes the same requests again and again.  Its period is
 * looked for, in this order, in requests of the same kind, tag and size; of the same kind and tag;
 * and in the executions of the program that is executed most.  The last three periods must agree in
 * at least nine of ten requests; the steps go back from the end of the list as long as each agrees
 * with the next in three of four.  A step begins where, between two places one period apart, the
 * least is live.  What comes before the first one is the start-up. */
enum { REMEDY_PERIOD_COUNT_MIN = 3 };

struct remedy_steps {
    uint32_t *bounds; /* count of them, ascending: the op with which step k begins; the last one may
                         be cut off */
    size_t count;     /* 0: no period was found; else at least 2 */
    uint32_t length;  /* ops of a step, on the average; 0 without steps */
    bool *is_of_step; /* by op, for roots: it lives within a step, no longer than one takes */
};

void remedy_steps_init(struct remedy_steps *steps, const struct op_list *ops,
                       const struct remedy_lives *lives);
void remedy_steps_deinit(struct remedy_steps *steps);

/* The reason of a remedy that needs steps when there are none. */
#define REMEDY_NO_STEPS "no step is seen: the requests of the list do not repeat"

#endif
