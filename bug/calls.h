/* A finding as calls of the allocator: the list is replayed on its target, and what the target is
 * asked for is written down up to the first broken promise. */
#ifndef BUG_CALLS_H
#define BUG_CALLS_H

#include "present/bug.h"
#include "recording/recording.h"

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
