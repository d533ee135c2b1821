/* The steps of a job beside the ops of its list: as the file numbers them, or as its requests
 * repeat. */
#ifndef RECORDING_STEP_AXIS_H
#define RECORDING_STEP_AXIS_H

#include "formats/formats.h"
#include "harness/base/trend.h"
#include "harness/base/writing.h"
#include "harness/op/op.h"

/* Step i begins with op ops[i], ascending, and has the number numbers[i]; count of them, 0: nothing
 * is known of steps.  is_said: the file numbers them; else the first one that is seen is step 1.
 * are_cycles: step_axis_find_cycles() found them. */
struct step_axis {
    uint32_t *ops;
    uint64_t *numbers;
    size_t count;
    bool is_said, are_cycles;
};

/* Finds the steps from what the file says.  If it says nothing, they come from the period of the
 * list (diagnosis/remedy_steps.h), if at least one block ends for each step.  A list that rebuilds
 * one moment has no steps, however regular its blocks are.  ops: NULL, nothing is estimated.
 * O(ops). */
void step_axis_init(struct step_axis *axis, const struct said *said, size_t said_count,
                    const struct op_list *ops, uint64_t granule_bytes);
/* Finds cycles where no step is known: those in which memory in use rises and falls, once it has
 * settled (harness/base/trend.h).  O(ops). */
void step_axis_find_cycles(struct step_axis *axis, const struct op_list *ops,
                           uint64_t granule_bytes);
void step_axis_deinit(struct step_axis *axis);

/* The place of the step to which the op belongs: axis->count before the first one. */
size_t step_axis_place(const struct step_axis *axis, uint32_t op);
/* *number: that of the step.  False: none is known of the op. */
bool step_axis_number(const struct step_axis *axis, uint32_t op, uint64_t *number);

/* Appends before, and "step 12" or, where the file does not number them, "about step 12"; nothing
 * where none is known. */
void step_axis_append(const struct step_axis *axis, uint32_t op, const char *before,
                      struct writing *text);
/* Members step and, where the file does not number them, step_is_about; none where none is known.
 */
void step_axis_add(const struct step_axis *axis, uint32_t op, struct writing *text);

/* Finds whether the memory use of a list grows, as every command reports it.  There is one series
 * for each host, and one judge (harness/base/trend.h). */

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
