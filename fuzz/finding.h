/* The end of an input that breaks a promise: it is said, written down as an .ops file, and the
 * process ends in a function of that rule alone, so that engines which compare stacks tell one
 * finding from another. */
#ifndef FUZZ_FINDING_H
#define FUZZ_FINDING_H

#include "harness/op/op.h"
#include "harness/op/setup.h"
#include "harness/oracle/rule.h"
#include "harness/oracle/verdict.h"
#include "harness/target.h"

#include <stdint.h>

/* A finding of the fuzzer. */
struct play_finding {
    const char *fuzz_target;     /* "fuzz_ops" */
    const struct target *target; /* that was run, and */
    const char *target_name;     /* what a command line calls it */
    const struct setup *setup;   /* as run */
    const struct op_list *ops;   /* as recorded */
    const struct verdict *verdict;
};

/* A shrunk list is worth a minute of processor time, and no more: hbmstress replay --shrink goes
 * on. */
enum { FINDING_SHRINK_MS_MAX = 60 * 1000 };

/* Prints the finding with its list, shrunk where that is asked for, and the line that repeats it to
 * standard error. Where the environment names a folder in HBMSTRESS_FUZZ_OUT, the list is shrunk
 * and it and, of a premature verdict, the certificate go to files there.  The list as it was found
 * lies there meanwhile, in case this process is ended. */
_Noreturn void finding_end(const struct play_finding *finding);

/* The same; shrinking may take so much processor time (at least 1), whatever list is under way then
 * is the last one. When one of them has not ended after ten times as long by the clock on the wall,
 * it is printed as it was found. */
_Noreturn void finding_end_within(const struct play_finding *finding, uint32_t shrink_ms_max);

/* The end of an input at which hbmstress contradicts itself: two answers that should agree do not.
 * Like a broken rule, each check ends the process in a function of its own, so
 * that engines tell one from another. */
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
