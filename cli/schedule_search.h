/* replay --strategy: other schedules of a recorded list with lanes than the one that it has. */
#ifndef CLI_SCHEDULE_SEARCH_H
#define CLI_SCHEDULE_SEARCH_H

#include "cli/recording.h"

/* Runs the list under schedule after schedule, until one does harm or all that were asked for are
 * done; says what that came to.  What breaks a promise is shrunk, each finding by itself, and kept
 * in arguments->run.out if that was said.  As replay's exit code. */
enum exit_code schedule_search_run(const struct arguments *arguments,
                                   const struct recording *recording);

#endif
