/* Experiments on a target, in child processes, and the contract that they show. */
#ifndef INFER_INFER_H
#define INFER_INFER_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"

/* Texts belong to the caller. */
struct infer_options {
    const struct run_options *run; /* its target is not read */
    const char *target;
};

/* Makes all experiments and prints what they show.  EXIT_BROKEN: a promise of the declared contract
 * is refuted; otherwise the usual codes. */
enum exit_code infer_run(const struct infer_options *options);

#endif
