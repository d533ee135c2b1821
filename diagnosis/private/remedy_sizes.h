/* Lists whose ops ask for other sizes than before, with what was donated still taking over what is
 * large enough. */
#ifndef DIAGNOSIS_PRIVATE_REMEDY_SIZES_H
#define DIAGNOSIS_PRIVATE_REMEDY_SIZES_H

#include "diagnosis/remedy.h"

/* A list whose sizes are changed, and how much the changes save. */
struct remedy_sizes {
    struct op_list *ops;
    uint64_t granule_bytes;
    uint64_t changed_count;
    uint64_t saved_bytes; /* summed over all ops */
};

/* Copies the list of the case to *to, for the calls below. */
void remedy_sizes_init(struct remedy_sizes *sizes, const struct remedy_case *given,
                       struct op_list *to);
/* Op number i asks for size_bytes, at least 1 and no more than before; its unpadded size never is
 * more than that. */
void remedy_sizes_set(struct remedy_sizes *sizes, size_t i, uint64_t size_bytes);
/* Divides the sizes of op number i by n, rounded up: a buffer's, with the unpadded one, or the
 * stack of a load. */
void remedy_sizes_divide(struct remedy_sizes *sizes, size_t i, uint64_t n);
/* After the last change: a block that an output of more than its new size takes over gets the size
 * of that output. */
void remedy_sizes_settle(struct remedy_sizes *sizes, const struct remedy_lives *lives);

/* Divides by n what lives within a step, and the stacks of programs that are executed in more than
 * one step.  is_left, by tag, is not divided; NULL: all is.  False: there is nothing to divide. */
bool remedy_sizes_divide_steps(struct remedy_sizes *sizes, const struct remedy_case *given,
                               uint64_t n, const bool is_left[OP_TAG_COUNT]);

/* Returns by op: true if it is a load whose program is
 * executed in more than one step.  The caller frees
 * it. */
bool *remedy_sizes_loads_of_steps(const struct remedy_case *given);

/* Says how many sizes were changed, `what` to, and what that saves.  False: none was, and the note
 * is `none`. */
bool remedy_sizes_note(const struct remedy_sizes *sizes, const char *what, const char *none,
                       struct remedy_result *result);

/* A whole remedy: sizes become what the unpadded size is, rounded up to units.  False: none does,
 * and the note says why. */
bool remedy_sizes_unpad(const struct remedy_case *given, uint64_t unit_bytes, const char *what,
                        struct remedy_result *result);

/* The parameters of a remedy that divides what lives within a step: 2, 4, 8 ... 64. */
bool remedy_sizes_divisor(const struct remedy_case *given, size_t index, uint64_t *parameter,
                          char note[REMEDY_NOTE_BYTES]);

#endif
