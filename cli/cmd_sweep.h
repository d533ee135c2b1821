/* run --sweep: fails every device call of a list of each scenario (harness/sweep/sweep.h), prints
 * what came of it, and keeps what broke. */
#ifndef CLI_CMD_SWEEP_H
#define CLI_CMD_SWEEP_H

#include "cli/arguments.h"

/* Ops of a list when --ops does not say: the work grows with their square. */
enum { SWEEPING_OP_COUNT_DEFAULT = 400 };

/* The exit codes of run; EXIT_UNKNOWN also when a call could not be failed. */
enum exit_code cmd_sweep_run(const struct arguments *arguments);

#endif
