/* How remedies choose their parameters and write a list anew. */
#ifndef DIAGNOSIS_PRIVATE_VARIANT_H
#define DIAGNOSIS_PRIVATE_VARIANT_H

#include "diagnosis/remedy.h"
#include "harness/op/op.h"

#include <stdbool.h>

/* --- Writes a list anew, op by op: some left out, some changed, others put between, and a
 * block or program may be made a second time under the same name. References are
 * renumbered on the way --- */

/* Promises of SPMD groups are left out: they hold for a list as it was recorded on all hosts, and a
 * variant is another. */
struct rewrite {
    const struct op_list *from;
    struct op_list *to; /* appended to */
    uint32_t *now;      /* from->count: by old number, the new number of what stands for the op now;
                           OP_NONE: nothing */
};
void rewrite_init(struct rewrite *rewrite, const struct op_list *from, struct op_list *to);
void rewrite_deinit(struct rewrite *rewrite);

/* Appends op number i of the old list as it is. */
void rewrite_keep(struct rewrite *rewrite, uint32_t i);
/* Appends op in the place of number i: whoever names i means it from now on.  Its references count
 * in the old list. */
void rewrite_as(struct rewrite *rewrite, uint32_t i, const struct op *op);
/* Appends an op that nobody will name.  References count in the old list. */
void rewrite_add(struct rewrite *rewrite, const struct op *op);
/* Appends an op of that kind on a block or program of the old list. */
void rewrite_add_on(struct rewrite *rewrite, enum op_kind kind, uint32_t ref);
/* Frees the life of that root, once the references that nothing releases are released. */
void rewrite_free_held(struct rewrite *rewrite, const struct remedy_lives *lives, uint32_t root);

/* --- A forced drain while a list is written anew: ops after which no event of before is
 * pending, so that queued frees are done --- */

/* The events that were enqueued since the last drain. */
struct drain {
    uint64_t delay_ns; /* after which all of it is done, but for what is lost */
    uint32_t *lost; /* lost_count events that no time completes, by old number; some were completed
                       since */
    bool *is_lost;  /* by old number: of lost, and not completed yet */
    size_t lost_count, lost_room;
    uint32_t first; /* events with lower old numbers were drained */
    bool has_events;
    uint32_t clock_count; /* hosts with a time of their own; 1: all share one */
    uint64_t bound_ns;    /* of collectives */
};
/* op_count: of the old list. */
void drain_init(struct drain *drain, const struct setup *setup, size_t op_count);
void drain_deinit(struct drain *drain);

/* Takes in op number i of the old list, which was written. */
void drain_note(struct drain *drain, const struct op_list *from, uint32_t i);
/* True if op i completes an event that a drain completed before: nothing is left for it to
 * do. */
bool drain_makes_needless(const struct drain *drain, const struct op_list *from, uint32_t i);
/* Appends the ops of a drain, none when nothing was enqueued: time passes until every delay is
 * over, and events that are lost are completed.  `at`: number of the old op that comes next.  True:
 * it appended some. */
bool drain_put(struct drain *drain, struct rewrite *rewrite, uint32_t at);

/* --- Retired memory lies on the device that the list is from: a remedy that takes another
 * device leaves it out --- */

/* Copies the list of the case without its retirements; returns how many those were. */
size_t remedy_leave_out_retired(const struct remedy_case *given, struct remedy_result *result);

/* Says so, where there were any, behind the first used characters of the note. */
void remedy_note_retired(struct remedy_result *result, int used, size_t retired_count);

/* --- Lists whose ops ask for other sizes than before, with what was donated still taking
 * over what is large enough --- */

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

/* --- Remedies whose parameter is a tag: its name as a word, and which of the tags are
 * worth a try --- */

/* The name as a word of labels.  One that cannot be such a word as it is, that another tag has too,
 * or that is `reserved` (NULL: none), gets its number, so that no two labels are equal. */
void remedy_tag_label(const struct setup *setup, uint64_t tag, const char *reserved,
                      char text[REMEDY_LABEL_BYTES]);

/* The same without reserved words, as the label of a remedy whose parameter is a tag. */
void remedy_tag_parameter_label(const struct remedy_case *given, uint64_t parameter,
                                char text[REMEDY_LABEL_BYTES]);
/* The index-th tag of those with scores, the largest first; of equals the lower one.  False: there
 * is none.  Where the case names a tag, that one alone counts. */
bool remedy_tag_ranked(const struct remedy_case *given, const uint64_t scores[OP_TAG_COUNT],
                       size_t index, uint64_t *tag);

/* --- Remedies that give an option of the target another value, and leave the list as it
 * is --- */

/* The parameter is a number below `count`, one for each value of the option; `current` is that of
 * the contract, and not worth a try.  False, as struct remedy has it, where the target has no such
 * option, too. */
bool remedy_option_parameter(const struct remedy_case *given, const char *key, size_t count,
                             size_t current, size_t index, uint64_t *parameter,
                             char note[REMEDY_NOTE_BYTES]);

/* Copies the list and sets the option.  False: the setup has no room for it. */
bool remedy_option_apply(const struct remedy_case *given, const char *key, const char *value,
                         struct remedy_result *result);

/* These do the same for options that are no or yes, the parameter 0 or 1. */
bool remedy_flag_parameter(const struct remedy_case *given, const char *key, bool current,
                           size_t index, uint64_t *parameter, char note[REMEDY_NOTE_BYTES]);
void remedy_flag_label(const struct remedy_case *given, uint64_t parameter,
                       char text[REMEDY_LABEL_BYTES]);
bool remedy_flag_apply(const struct remedy_case *given, const char *key, uint64_t parameter,
                       struct remedy_result *result);

#endif
