/* The promises, one row each.  The oracle names the first one broken; each has a planted target
 * that breaks exactly it. */
#ifndef HARNESS_ORACLE_RULE_H
#define HARNESS_ORACLE_RULE_H

enum rule {
    RULE_NONE = 0,
    RULE_PREMATURE,      /* an OOM though a placement was reachable */
    RULE_OVERLAP,        /* a new block lies on a live block or on the stack */
    RULE_OUTSIDE,        /* a block lies outside the device */
    RULE_MISALIGNED,     /* not a multiple of the granule or of the asked alignment */
    RULE_TOO_SMALL,      /* the block is smaller than the request */
    RULE_CONTENTS,       /* contents did not survive (a lost, torn or misplaced copy) */
    RULE_REUSED_EARLY,   /* memory of a queued free was used again before its events were done */
    RULE_HELD_MOVED,     /* a held or dying block moved */
    RULE_MOVED_UNASKED,  /* a block moved though the contract forbids it, or changed its place
                            without a copy */
    RULE_BUSY_EVICTED,   /* a busy program was evicted */
    RULE_WRONG_EVICTION, /* evicted: not loaded, unknown, or by a request that may not evict */
    RULE_FAILED_CHANGED, /* a failed call changed blocks */
    RULE_COUNTERS,       /* the target's counters differ from the model's */
    RULE_MESSAGE,        /* an error's text or numbers are wrong */
    RULE_REPORT,         /* the allocations report is not the live blocks, once each */
    RULE_STATUS,         /* a wrong result: OOM for what is invalid, OK for what cannot be */
    RULE_HANDLE,         /* a handle that is 0 or names two things */
    RULE_HANG,           /* an op made more device calls than the bound */
    RULE_NOT_COALESCED,  /* after the last free the heap is not one hole */
    RULE_HOST_MEMORY,    /* host memory is not back where it began after close */
    RULE_SPMD,           /* hosts got different answers to the same request */
    RULE_REPLAY,         /* the same ops gave different observations the second time */
    RULE_REGRET,         /* more requests cost needless moves or evictions than the setup allows */
    RULE_OVERRUN,  /* it wrote beyond host memory that it was given, or gave back what it had not */
    RULE_CRASH,    /* a call did not return: a signal, an abort, an exit, a sanitizer's report */
    RULE_DEADLOCK, /* lanes await each other, or what never comes */
    RULE_LIVELOCK, /* lanes go on and on and no call returns */
    RULE_LOST_WAKEUP, /* a lane waits though its condition holds, and nobody is left to wake it */
    RULE_RACE,   /* plain accesses of two lanes to the same memory, one of them a write, without an
                    order */
    RULE_MISUSE, /* a lock is given back by who does not hold it, or destroyed while in use */
    RULE_COUNT
};

struct rule_info {
    const char *name;    /* as in JSON and in a plant's `breaks` */
    const char *summary; /* the promise, in one sentence */
};
const struct rule_info *rule_info(enum rule rule);
/* RULE_NONE when there is none of that name. */
enum rule rule_find(const char *name);

#endif
