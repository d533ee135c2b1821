/* A process of ours that runs a target, so that a target that dies takes nothing else with it. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include "reports/writing.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CHILD_DEATH_BYTES = 96 };

/* Reads or writes all of it, whatever the signals.  False: the other end is gone, or an error. */
bool file_read_all(int file, void *bytes, size_t length);
bool file_write_all(int file, const void *bytes, size_t length);

/* Says how a process ended: "signal 11 (Segmentation fault)", "exit status 3". */
void child_describe_death(int status, char death[CHILD_DEATH_BYTES]);

/* First call of a child: it leaves signals of the keyboard to its parent, and dies with it. */
void child_begin(void);

enum child_end {
    CHILD_DONE,     /* work returned */
    CHILD_DIED,     /* it ended in another way; death says how */
    CHILD_STOPPED,  /* the time was over, or the user interrupted: it was killed */
    CHILD_NOT_BORN  /* no process or no pipe could be had; errno says why */
};

/* Runs work(context, file) in a child and waits for it, at most duration_ns (UINT64_MAX: without a
 * bound).  What work writes to file is appended to *answer.  With interruptible, ctrl-C stops it.
 * Standard output is the same for both; the child flushes its part when work returns. */
enum child_end child_run(void (*work)(void *context, int file), void *context, uint64_t duration_ns,
                         bool interruptible, struct writing *answer, char death[CHILD_DEATH_BYTES]);

#endif
