/* Work that calls a target, in a process of its own: a target that dies or hangs is an answer, and
 * everything else that goes wrong ends the subcommand. */
#ifndef RECORDING_TARGET_CHILD_H
#define RECORDING_TARGET_CHILD_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "campaign/process/child.h"

/* Runs work within the time-outs of the options and appends what it answers.  EXIT_KEPT and *end
 * (DONE, DIED, STOPPED for a hang; *death says how), or EXIT_HARNESS after one message: the user
 * interrupted, there is no process, or a CHECK of ours did not hold. */
enum exit_code target_child(const struct run_options *options, struct death *death,
                            void (*work)(void *context, int file), void *context,
                            struct writing *answer, enum child_end *end);

#endif
