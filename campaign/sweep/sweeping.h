/* Fails every device call of a list of each scenario (harness/sweep/sweep.h), prints what came of
 * it, and keeps what broke. */
#ifndef CAMPAIGN_SWEEP_SWEEPING_H
#define CAMPAIGN_SWEEP_SWEEPING_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"

/* Ops of a list when nothing is said, and the most: the work grows with their square. */
enum { SWEEPING_OP_COUNT_DEFAULT = 400 };

/* The exit codes of run; EXIT_UNKNOWN also when a call could not be failed. */
enum exit_code sweeping_run(const struct run_options *options);

#endif
