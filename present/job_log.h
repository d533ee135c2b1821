/* The logs that the hosts of a training job leave, as its users see them: one of each host, in the
 * words of JAX or PyTorch/XLA (job_words.h), by that host's own clock, and one of the launcher if a
 * host was killed.  They say what such a job prints and
 * nothing else: no op, no verdict, no cause. */
#ifndef PRESENT_JOB_LOG_H
#define PRESENT_JOB_LOG_H

#include "harness/run/run.h"

struct job_log;

/* The logs are numbered as the hosts are; behind them is the launcher's. */
enum { JOB_LOG_LAUNCHER = OP_HOST_COUNT_MAX, JOB_LOG_COUNT };

struct job_log *job_log_create(void);
void job_log_destroy(struct job_log *log); /* NULL: nothing */

/* After each op, and once more after the last promises (run_finish), when those that wait for
 * another host reach their time-out.  Steps are the executions of programs whose tag is named
 * "train_step"; the k-th of a host, from 0, is its step k.  Of the scenario's options it reads
 * framework, launcher, killed and killed_by.  After an out of memory that the job
 * does not survive a host prints nothing more.  O(1). */
void job_log_step(struct job_log *log, const struct run *run);

/* Appends the log of the host, or of the launcher, so far to text, forgets it and returns its
 * length: all of them may be long.  0: there is none. */
size_t job_log_take(struct job_log *log, uint32_t host, struct writing *text);

#endif
