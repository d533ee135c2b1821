/* replay --strategy: other schedules of a recorded list with lanes than the one that it has. */
#ifndef CLI_SEARCHING_H
#define CLI_SEARCHING_H

#include "cli/recording.h"

/* Runs the list under schedule after schedule, until a promise is broken or all that were asked for
 * are done; says what that came to.  What breaks a promise is shrunk, and kept in arguments->out if
 * that was said.  As replay's exit code. */
enum exit_code searching_run(const struct arguments *arguments, const struct recording *recording);

#endif
