/* A process of ours that runs a target, so that a target that dies takes nothing else with it. */
#ifndef CAMPAIGN_PROCESS_CHILD_H
#define CAMPAIGN_PROCESS_CHILD_H

#include "campaign/process/death.h"
#include "harness/base/writing.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CHILD_DEATH_BYTES = SIGNATURE_BYTES };

/* Reads or writes all of it, whatever the signals.  False: the other end is gone, or an error. */
bool file_read_all(int file, void *bytes, size_t length);
bool file_write_all(int file, const void *bytes, size_t length);

/* One process of ours, and its pipes.  process is 0 while there is none. */
struct child {
    pid_t process;
    int tasks;   /* written to by us; -1 = it takes none */
    int answers; /* read by us */
};

/* Forks main(context, tasks, answers), which leaves signals of the keyboard to its parent and dies
 * with it.  When main returns the process exits with 0, without a flush.  False: no process or no
 * pipe; errno says why. */
bool child_start(struct child *child, void (*main)(void *context, int tasks, int answers),
                 void *context, bool has_tasks);
/* Closes our ends of the pipes, for a process that is forked meanwhile, or for one that has ended.
 */
void child_close(const struct child *child);
void child_kill(const struct child *child);
/* Waits for its end; returns its status, and child->process is 0. */
int child_wait(struct child *child);

enum child_sound {
    CHILD_SILENT, /* nothing came in time */
    CHILD_HEARD,  /* something did, and was appended */
    CHILD_CLOSED  /* its end of the answers is closed */
};
/* Reads once what it answers; waits at most wait_ms for it. */
enum child_sound child_listen(const struct child *child, int wait_ms, struct writing *answer);

enum child_end {
    CHILD_DONE,    /* work returned */
    CHILD_DIED,    /* it ended in another way */
    CHILD_STOPPED, /* the time was over, or the user interrupted: it was killed */
    CHILD_FAULTY,  /* of child_run alone: a CHECK of ours did not hold, which is not the target's
                      fault */
    CHILD_NOT_BORN /* no process or no pipe could be had; errno says why */
};

/* What a child does, and how long it may take. */
struct child_job {
    void (*work)(void *context, int file); /* what it writes to file is the answer */
    void *context;
    uint64_t duration_ns;   /* wall time; UINT64_MAX: without a bound */
    uint64_t op_timeout_ns; /* processor time of one call of the target; 0 = death_op_timeout() */
    uint64_t stuck_ns;      /* wall time of one call of the target that takes no processor time; 0 =
                               without a bound */
    bool is_interruptible;  /* ctrl-C stops it */
    /* Looks at the answer each time that something came, and may drop of it what is no longer
     * needed; NULL: nobody does. */
    void (*heard)(struct writing *answer);
};

/* Runs it and waits for it.  The answer is appended to *answer.  *death, from death_create, is
 * cleared first; after DIED it says how, and after STOPPED, unless by ctrl-C, that it hung.
 * Standard output is the same for both; the child flushes its part when work returns. */
enum child_end child_work(const struct child_job *job, struct writing *answer, struct death *death);

/* The same for at most duration_ns; death is the end in words ("SIGSEGV at f < g", "exit status 3
 * in open"). */
enum child_end child_run(void (*work)(void *context, int file), void *context, uint64_t duration_ns,
                         bool is_interruptible, struct writing *answer,
                         char death[CHILD_DEATH_BYTES]);

#endif
