/* doctor --target: what a target is, or why it cannot be used. */
#ifndef DOCTOR_INSPECT_H
#define DOCTOR_INSPECT_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"

/* Loads and opens options->target in a process of its own, and prints what it is.  EXIT_USAGE after
 * one message where it cannot be loaded or refuses, EXIT_BROKEN where it crashes or hangs in open,
 * EXIT_HARNESS where there is no process for it. */
enum exit_code doctor_inspect(const struct run_options *options);

#endif
