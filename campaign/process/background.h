/* Runs work in a process beside the run.  It takes its time while the run goes on; the run looks
 * for the answer now and then. */
#ifndef CAMPAIGN_PROCESS_BACKGROUND_H
#define CAMPAIGN_PROCESS_BACKGROUND_H

#include "campaign/process/child.h"
#include "harness/base/writing.h"

#include <stdbool.h>

/* child.process is 0 while there is no work. */
struct background {
    struct child child;
    struct writing answer; /* what the work wrote so far */
};

/* Forks work(context, file); what it writes to file is its answer.  False: no process or pipe;
 * errno says why. */
bool background_start(struct background *background, void (*work)(void *context, int file),
                      void *context);

/* Waits at most wait_ms.  True: the work has ended, well when *is_good, and the answer is whole. */
bool background_is_done(struct background *background, int wait_ms, bool *is_good);

/* Asks it to end soon with what it has; it is still to be waited for. */
void background_ask_to_end(const struct background *background);

/* Ends the work wherever it is, and forgets its answer. */
void background_stop(struct background *background);

#endif
