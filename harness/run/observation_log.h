/* Logs what an op list met, line by line, so that somebody else can make the state of an
 * out-of-memory again: docs/certificate.md, "The observations". */
#ifndef HARNESS_RUN_OBSERVATION_LOG_H
#define HARNESS_RUN_OBSERVATION_LOG_H

#include "harness/run/run.h"

/* The log remembers what its lines so far have told. */
struct observation_log;
struct observation_log *observation_log_create(void);
void observation_log_destroy(struct observation_log *log);

/* Appends the head, before the first op.  The run is that of every later call. */
void observation_log_print_head(const struct run *run, struct writing *text);
/* Appends the line of the last op, before the next: every op of a list without lanes, in its order.
 * O(what the op did); O(blocks) if it moved some; O(pending events) if a fault struck. */
void observation_log_print_op(struct observation_log *log, const struct run *run,
                              struct writing *text);

#endif
