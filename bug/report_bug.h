/* A finding for the allocator's maintainer: a program of its own API that shows it, built and run,
 * and a report. */
#ifndef BUG_REPORT_BUG_H
#define BUG_REPORT_BUG_H

#include "present/bug.h"
#include "recording/recording.h"

/* Texts belong to the caller. */
struct bug_options {
    struct recording_options reading;
    const char *path;
    const char *output; /* the folder that is written; NULL: named after the list */
};

/* Writes the folder and prints what the program shows.  EXIT_KEPT: it shows the defect;
 * EXIT_UNKNOWN: it does not; otherwise the usual codes. */
enum exit_code bug_report_write(const struct bug_options *options);

/* --- a finding as calls of the allocator --- */

/* The list is replayed on its target, and what the target is asked for is written down up to the
 * first broken promise. */
enum { BUG_REFUSAL_BYTES = 256 };

/* The calls that a replay records, in memory that its process shares with ours. */
struct bug_calls;

/* Room for the calls of a list of so many ops; NULL: there is no memory. */
struct bug_calls *bug_calls_create(size_t op_count);
void bug_calls_destroy(struct bug_calls *calls);

/* Replays the list in a process of its own, and sets *bug but for its api and target; its arrays
 * and texts are those of calls.  EXIT_KEPT; or, after one message, EXIT_USAGE where the list breaks
 * no promise, or one that no program of the allocator's own calls shows, or has an op that is none
 * of its calls; EXIT_HARNESS where the replay cannot be run. */
enum exit_code bug_calls_replay(const char *path, const struct run_options *run,
                                const struct recording *recording, struct bug_calls *calls,
                                struct bug *bug);

#endif
