/* Lists of ops in which each op can be known again wherever an edit put it, for tests of edits. */
#ifndef TESTS_FUZZ_FUZZ_LISTS_H
#define TESTS_FUZZ_FUZZ_LISTS_H

#include "fuzz/mutate/mutate_edit.h"

enum { KNOWN_PAIRS = 10, EDIT_SEEDS = 200, KNOWN_MARK = 16, KNOWN_MARK_OTHER = 32 };

/* 128 KiB on one host, and KNOWN_PAIRS blocks, each of another size with `mark` and its number as
 * tag, freed behind them, each after a delay that says which block it is.  input is initialised. */
void known_input(struct input *input, uint8_t mark);
/* What most tests of edits begin with: two such lists, to change and to take ops from, and room for
 * what comes out. */
extern struct input before, other, after;
void known_set_up(void);
void known_tear_down(void);
/* What the op is, whatever its number and references are: 0 for one that is not of such a list. */
uint32_t known_op(const struct op *op);
/* Whether each op of such a list names the block that it named there, or none by number. */
bool known_references_hold(const struct op_list *ops);
/* Whether the known ops of few are among those of many, in that order. */
bool known_are_in_order(const struct op_list *few, const struct op_list *many);
size_t known_count(const struct op_list *ops);

/* Applies the edit to a copy of input, which goes to *out, initialised.  False: it does not apply.
 */
bool edit_copy(const char *name, const struct input *input, const struct input *donor,
               uint64_t seed, struct input *out);
/* How many ops of two lists of one length differ; *at is the last one. */
size_t differing_ops(const struct op_list *a, const struct op_list *b, size_t *at);

#endif
