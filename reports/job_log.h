/* The logs that the hosts of a training job leave, as its users see them: one of each host, in the
 * words of JAX, absl and Python, by that host's own clock.  They say what such a job prints and
 * nothing else: no op, no verdict, no cause. */
#ifndef REPORTS_JOB_LOG_H
#define REPORTS_JOB_LOG_H

#include "harness/run/run.h"

struct job_log;

struct job_log *job_log_create(void);
void job_log_destroy(struct job_log *log); /* NULL: nothing */

/* After each op, and once more after the last promises (run_finish), when those that wait for
 * another host reach their time-out.  Steps are the executions of programs whose tag is named
 * "train_step"; the k-th of a host, from 0, is its step k.  After an out of memory that the job
 * does not survive a host prints nothing more.  O(1). */
void job_log_step(struct job_log *log, const struct run *run);

/* The log of the host so far; it belongs to log. */
const struct writing *job_log_text(const struct job_log *log, uint32_t host);

#endif
