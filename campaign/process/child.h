/* A process of ours that runs a target, so that a target that dies takes nothing else with it. */
#ifndef CAMPAIGN_PROCESS_CHILD_H
#define CAMPAIGN_PROCESS_CHILD_H

#include "campaign/process/death.h"
#include "harness/base/writing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CHILD_DEATH_BYTES = SIGNATURE_BYTES };

/* Reads or writes all of it, whatever the signals.  False: the other end is gone, or an error. */
bool file_read_all(int file, void *bytes, size_t length);
bool file_write_all(int file, const void *bytes, size_t length);

/* One process of ours, and its pipes.  process is 0 while there is none. */
struct child {
    pid_t process;
    int tasks;                        /* written to by us; -1 = it takes none */
    int answers;                      /* read by us */
    int output;                       /* what the target prints (guest.h); -1 = nobody reads it */
    uint64_t heard_bytes, heard_hash; /* of its answers, since it began to answer */
};

enum child_flag {
    CHILD_TAKES_TASKS = 1 << 0,
    CHILD_IS_HEARD = 1 << 1, /* what the target prints is kept */
    CHILD_PRINTS = 1 << 2    /* it has standard output and error of the program (standard.h) */
};
/* Forks main(context, tasks, answers), which leaves signals of the keyboard to its parent and dies
 * with it.  flags are those of enum child_flag; it has no other file of the parent (guest.h).  When
 * main returns the process exits with 0, without a flush.  False: no process or no pipe; errno says
 * why. */
bool child_start(struct child *child, void (*main)(void *context, int tasks, int answers),
                 void *context, unsigned flags);
/* Closes our ends of the pipes, for one that has ended. */
void child_close(const struct child *child);
void child_kill(const struct child *child);
/* Kills it, closes our ends and waits for its end; returns its status. */
int child_stop(struct child *child);
/* Waits for its end; returns its status, and child->process is 0.  What it forked ends, too. */
int child_wait(struct child *child);
/* Like child_wait(), for a child that should have ended by itself.  *was_alive: it had not ended
 * after a moment, and was killed. */
int child_end(struct child *child, bool *was_alive);

enum child_sound {
    CHILD_SILENT, /* nothing came in time */
    CHILD_HEARD,  /* something did, and was appended */
    CHILD_CLOSED  /* its end of the answers is closed, or it has ended */
};
/* Reads once what it answers; waits at most wait_ms for it. */
enum child_sound child_listen(struct child *child, int wait_ms, struct writing *answer);

/* A target may write to the file of the answers.  So death, which the parent shares, says what the
 * whole answer will be: in the child, before it writes length bytes more, behind what it has
 * written since child_begin_answer().  Notes it when the target damaged a file of ours. */
void child_announce(struct death *death, const void *bytes, size_t length);
/* Like child_announce(), for bytes that lie in several places. */
struct child_piece {
    const void *bytes;
    size_t length;
};
void child_announce_pieces(struct death *death, const struct child_piece *pieces, size_t count);
/* In the child: another answer begins.  In the parent: child_expect_answer(). */
void child_begin_answer(void);
/* In the parent: whether what was heard is what was announced. */
enum child_answer {
    CHILD_ANSWER_TO_COME, /* nothing was heard that was not announced */
    CHILD_ANSWER_WHOLE,
    CHILD_ANSWER_DAMAGED
};
enum child_answer child_look_at_answer(const struct child *child, const struct death *death);
/* In the parent: the next answer begins. */
void child_expect_answer(struct child *child);

/* What the parent remembers of the target's call that is under way. */
struct child_watch {
    uint64_t look_ns;                      /* the last one; 0 = there was none */
    uint64_t call_count, call_ns, busy_ns; /* the call, since when it is seen, and the processor
                                              time of its process then */
};
enum child_state {
    CHILD_BUSY,  /* or there is nothing to say of it */
    CHILD_STUCK, /* its call waits, without processor time, for stuck_ns or longer (0 = no bound),
                    or takes more processor time than it may, and no signal tells it so */
    CHILD_PAUSED /* it is stopped by a signal */
};
/* In the parent, now and then: looks at the call under way. */
enum child_state child_look(const struct child *child, const struct call_progress *progress,
                            uint64_t op_timeout_ns, uint64_t stuck_ns, struct child_watch *watch);

enum child_end {
    CHILD_DONE,    /* work returned */
    CHILD_DIED,    /* it ended in another way */
    CHILD_STOPPED, /* the time was over, or the user interrupted: it was killed */
    CHILD_FAULTY,  /* of child_run alone: a CHECK of ours did not hold, which is not the target's
                      fault */
    CHILD_NOT_BORN /* no process or no pipe could be had; errno says why */
};

/* The work of a child, and how long it may take. */
struct child_job {
    void (*work)(void *context, int file); /* what it writes to file is the answer */
    void *context;
    uint64_t duration_ns;   /* wall time; UINT64_MAX: without a bound */
    uint64_t op_timeout_ns; /* processor time of one call of the target; 0 = death_op_timeout() */
    uint64_t stuck_ns;      /* wall time of one call of the target that takes no processor time; 0 =
                               as much as it may take of that */
    bool is_interruptible;  /* ctrl-C stops it */
    struct writing *output; /* what the target prints is appended; NULL: nobody reads it */
    bool is_quiet;          /* work prints nothing of ours, so no such file is near the target */
    /* Looks at the answer each time that something came, and may drop of it what is no longer
     * needed; NULL: nobody does. */
    void (*heard)(struct writing *answer);
};

/* Runs it and waits for it.  The answer is appended to *answer.  *death is set: after DIED it says
 * how, and after STOPPED, unless by ctrl-C, that it hung.  Standard output (standard.h) is the same
 * for both; the child flushes its part when work returns.  work answers with file_write_all alone:
 * other bytes are the target's, and its death. */
enum child_end child_work(const struct child_job *job, struct writing *answer, struct death *death);

/* Like child_work(), for at most duration_ns.  death becomes the end in words ("SIGSEGV at f < g",
 * "exit status 3 in open"). */
enum child_end child_run(void (*work)(void *context, int file), void *context, uint64_t duration_ns,
                         bool is_interruptible, struct writing *answer,
                         char death[CHILD_DEATH_BYTES]);

/* Memory that a process of ours shares with the children that it forks afterwards. */

/* Returns zeroed memory; bytes > 0.  A page costs nothing before it is written to.  NULL: there is
 * none; errno says why. */
void *shared_memory_create(size_t bytes);
/* bytes: as many as it was created with.  memory NULL: does nothing. */
void shared_memory_destroy(void *memory, size_t bytes);

#endif
