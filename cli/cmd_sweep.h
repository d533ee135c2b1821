/* run --sweep: what of the command line it takes. */
#ifndef CLI_CMD_SWEEP_H
#define CLI_CMD_SWEEP_H

#include "cli/arguments.h"

/* The exit codes of run; EXIT_UNKNOWN also when a call could not be failed. */
enum exit_code cmd_sweep_run(const struct arguments *arguments);

#endif
