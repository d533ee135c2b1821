/* The steps of a job beside the ops of its list: as the file numbers them, or as its requests
 * repeat. */
#ifndef RECORDING_STEP_AXIS_H
#define RECORDING_STEP_AXIS_H

#include "formats/formats.h"
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

#endif
