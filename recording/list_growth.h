/* Finds whether the memory use of a list grows, as every command reports it.  There is one series
 * for each host, and one judge (harness/base/trend.h). */
#ifndef RECORDING_LIST_GROWTH_H
#define RECORDING_LIST_GROWTH_H

#include "harness/base/trend.h"
#include "recording/step_axis.h"

/* The memory use of a host.  A plain value of 192 KiB; all zero = no op was added. */
struct list_use {
    struct series ops, steps;
    size_t place; /* the step of the last op; the number of steps before the first one */
};

/* Adds what is in use after an op of the host; ops come in the order in which they end.  A caller
 * that knows what is warm-up leaves it out.  O(log steps) on the average. */
void list_use_add(struct list_use *use, const struct step_axis *axis, uint32_t op,
                  uint64_t in_use_bytes);

/* answer: of the steps that the file numbers; otherwise of the cycles of what is in use.  The
 * slopes are 0 where it does not grow, that of a step also where no step is known. */
struct list_growth {
    enum trend_answer answer;
    double bytes_per_op, bytes_per_step;
};
void list_growth_find(const struct list_use *use, const struct step_axis *axis,
                      struct list_growth *growth);

/* Bytes by which use grows in 1000 ops, rounded. */
int64_t list_growth_per_1000_ops(const struct list_growth *growth);

#endif
