/* Shrinking in a process of its own: a shorter list may crash the target or never return, and
 * ctrl-C must be able to end it. */
#ifndef CLI_SHRINKING_H
#define CLI_SHRINKING_H

#include "harness/run.h"
#include "reports/writing.h"

enum shrinking_end {
    SHRINKING_DONE,
    SHRINKING_NOT_BROKEN, /* the list breaks no promise */
    SHRINKING_CRASHED,    /* the target took the process with it */
    SHRINKING_STOPPED,    /* ctrl-C, or 10 minutes were over */
    SHRINKING_FAILED      /* no process or pipe could be had */
};
struct shrunk {
    struct op_list ops; /* the caller inits and deinits; untouched but after DONE */
    struct writing certificate; /* of the last op of ops; empty when that is no OOM.  The same */
    struct verdict first;
    uint64_t replays;
    bool is_minimal;
    char why[RUN_REASON_BYTES]; /* in words, when not DONE */
};

/* At most replay_count_max replays, fewer for long lists: all of them together run at most 20
 * million ops, so that the work is bounded by a count and the same on every machine. */
enum shrinking_end shrinking_run(const struct target *target, const struct setup *setup, const struct op_list *ops,
                                 uint64_t replay_count_max, struct shrunk *shrunk);

#endif
