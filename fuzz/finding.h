/* The end of an input that breaks a promise: it is said, written down as an .ops file, and the process ends in a function
 * of that rule alone, so that engines which compare stacks tell one finding from another. */
#ifndef FUZZ_FINDING_H
#define FUZZ_FINDING_H

#include "harness/op.h"
#include "harness/setup.h"
#include "harness/target.h"
#include "harness/verdict.h"

/* What was found. */
struct finding {
    const char *fuzz_target;     /* "fuzz_ops" */
    const struct target *target; /* that was run, and */
    const char *target_name;     /* what a command line calls it */
    const struct setup *setup;   /* as run */
    const struct op_list *ops;   /* as recorded */
    const struct verdict *verdict;
};

/* Prints the finding with its list, shrunk where that is asked for, and the line that repeats it to standard error.
 * Where the environment names a folder in HBMSTRESS_FUZZ_OUT, the list is shrunk and it and, of a premature verdict, the
 * certificate go to files there. */
_Noreturn void finding_end(const struct finding *finding);

#endif
