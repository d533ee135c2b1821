/* The end of an input at which hbmstress contradicts itself: two answers that should agree do not.
 * Like a broken rule (fuzz/finding.h), each check ends the process in a function of its own, so
 * that engines tell one from another. */
#ifndef FUZZ_FINDING_CHECK_H
#define FUZZ_FINDING_CHECK_H

#include "harness/op/op.h"
#include "harness/op/setup.h"

enum finding_check {
#define FINDING(enumerator, name) FINDING_##enumerator,
#include "fuzz/finding_list.h"
#undef FINDING
    FINDING_CHECK_COUNT
};
const char *finding_check_name(enum finding_check check); /* "judges_differ" */

/* Prints what was found, and why, as one line each to standard error, and ends the process. Whoever
 * has a list prints it before (finding_print_ops). */
_Noreturn void finding_end_check(const char *fuzz_target, enum finding_check check,
                                 const char *reason, ...) __attribute__((format(printf, 3, 4)));

/* The list as .ops text, for the input that is about to end. */
void finding_print_ops(const char *target_name, const struct setup *setup,
                       const struct op_list *ops);

#endif
