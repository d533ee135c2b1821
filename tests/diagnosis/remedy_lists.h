/* Small lists for the tests of remedies: parsed from text, or made step by step, and what a remedy
 * is given. */
#ifndef TESTS_DIAGNOSIS_REMEDY_LISTS_H
#define TESTS_DIAGNOSIS_REMEDY_LISTS_H

#include "diagnosis/private/what_if_parts.h"

/* A case with all that it points to; remedy_list_deinit gives it back. */
struct remedy_list {
    struct what_if_base base;
    struct remedy_case given;
    struct remedy_result result; /* of remedy_list_apply */
};

/* From the text of an .ops file without its first line; target hbm and capacity 1M unless the text
 * says otherwise. */
void remedy_list_parse(struct remedy_list *list, const char *text);
/* From a list; on the target that setup names. */
void remedy_list_take(struct remedy_list *list, const struct setup *setup,
                      const struct op_list *ops);
void remedy_list_deinit(struct remedy_list *list);

/* A job of so many steps on a device of 1 MiB: two parameters of 64K and 32K ("params"), then in
 * each step a batch of 64K, activations of 128K and 64K ("acts"), gradients of 96K ("grads") made
 * before the activations go, and a loss of 512 bytes that stays ("loss"). */
void remedy_list_steps(struct remedy_list *list, unsigned step_count);

/* Applies the remedy; list->result has what came out.  Fails the test when the list does not apply
 * as said. */
void remedy_list_apply(struct remedy_list *list, const struct remedy *remedy, uint64_t parameter);
/* Runs the list that came out; fails the test when a promise breaks, or when an op that needs no
 * luck is skipped though the list has no out-of-memory.  *row as by what_if_measure. */
void remedy_list_measure(const struct remedy_list *list, struct what_if_row *row);

#endif
