/* Runs work in a process beside the run.  It takes its time while the run goes on; the run looks
 * for the answer now and then. */
#ifndef CAMPAIGN_PROCESS_BACKGROUND_H
#define CAMPAIGN_PROCESS_BACKGROUND_H

#include "campaign/process/child.h"
#include "harness/base/writing.h"

#include <stdbool.h>
#include <stdint.h>

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

/* Files forced to the disk by a process of their own: a disk that takes its time keeps nobody else
 * waiting, and who waits may stop to. */

/* child.process is 0 while there is none. */
struct syncer {
    struct child child;
    struct writing answer;
    bool is_busy; /* files were named, and no answer is there yet */
};

/* False: no process or pipe; errno says why. */
bool syncer_start(struct syncer *syncer);
/* Ends the process, wherever it is: what it was to force may not be on the disk. */
void syncer_stop(struct syncer *syncer);

/* Names files, each text with its NUL; not while it is busy.  One that is not there is left out. */
void syncer_ask(struct syncer *syncer, const struct writing *paths);

enum syncer_result {
    SYNCER_BUSY,  /* not yet */
    SYNCER_DONE,  /* the bytes of all of them are on the disk */
    SYNCER_FAILED /* one of them is not, *error says why, or the process is gone (0) */
};
/* Waits at most wait_ms for the answer, which is given once. */
enum syncer_result syncer_take(struct syncer *syncer, int wait_ms, int *error);

#endif
