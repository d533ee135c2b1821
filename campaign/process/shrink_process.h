/* Shrinking in processes of its own: a shorter list may crash the target or never return, and
 * ctrl-C must be able to end it.  The finding stays the same one: only lists with its signature
 * count. */
#ifndef CAMPAIGN_PROCESS_SHRINK_PROCESS_H
#define CAMPAIGN_PROCESS_SHRINK_PROCESS_H

#include "campaign/process/attempt.h"
#include "harness/base/writing.h"
#include "harness/oracle/signature.h"
#include "harness/run/run.h"

enum shrink_process_end {
    SHRINK_PROCESS_DONE,       /* cut says whether shrinking was over */
    SHRINK_PROCESS_NOT_BROKEN, /* the list does not show the finding when it is run again */
    SHRINK_PROCESS_STOPPED,    /* ctrl-C, or the time was over, before the finding was seen once */
    SHRINK_PROCESS_FAULTY,     /* a CHECK of ours failed */
    SHRINK_PROCESS_FAILED      /* no process or pipe could be had */
};
struct shrunk {
    struct op_list ops;         /* the caller inits and deinits; untouched but after DONE */
    struct writing certificate; /* of the last op of ops; empty when that is no OOM.  The same */
    struct setup setup; /* that ops show it with: the one of `shrinking`, unless that may change */
    struct verdict first;
    /* what was kept, or what is left of the same defect (signature_stands_for); also set when the
     * list alone said what to keep */
    char signature[SIGNATURE_BYTES];
    uint64_t replays;
    bool is_minimal;
    char cut[48]; /* in words: what ended it early, so that ops are the fewest that were found until
                     then; "" */
    char why[RUN_REASON_BYTES]; /* in words, when not DONE */
};

/* The finding to shrink, and how. */
struct shrink_process {
    const struct target *target;
    const struct setup *setup;
    const struct op_list *ops;
    const char *signature; /* to keep; NULL = whatever the list shows when it is run */
    uint64_t replay_count_max;
    uint64_t duration_ns; /* wall time; 0 = 10 minutes.  The runs at the end come on top */
    bool changes_setup;   /* capacity, granule and hosts may become simpler, too */
};

/* Returns one run of a list with the usual bounds, in which that finding can show. */
struct attempt shrink_process_attempt(const struct target *target, const struct setup *setup,
                                      const char *signature);

/* Shrinks with at most replay_count_max replays, fewer where each takes a process (2,000) and for
 * hangs (300).  All of them together run at most 20 million ops: a count bounds the work, so it
 * is the same on every machine.  When it takes longer than duration_ns, or ctrl-C comes, the
 * fewest ops found until then are the result.  Rules are replayed in one process as long as the
 * target lives there.  Crashes, hangs and replay differences take one process each, after a run
 * that resolved the references of the list.  In the end the list is run three times more, each
 * time in a fresh process.  When one of them does not show the finding, the result is
 * NOT_BROKEN. */
enum shrink_process_end shrink_process_run(const struct shrink_process *shrink_process,
                                           struct shrunk *shrunk);

#endif
