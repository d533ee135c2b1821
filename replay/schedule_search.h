/* replay --strategy: other schedules of a recorded list with lanes than the one that it has. */
#ifndef REPLAY_SCHEDULE_SEARCH_H
#define REPLAY_SCHEDULE_SEARCH_H

#include "recording/recording.h"

/* Runs the list under schedule after schedule, until one does harm or all that were asked for are
 * done; says what that came to.  What breaks a promise is shrunk, each finding by itself, and kept
 * in run->out if that was said.  As replay's exit code. */
enum exit_code schedule_search_run(const char *path, const struct run_options *run,
                                   const struct recording *recording);

#endif
