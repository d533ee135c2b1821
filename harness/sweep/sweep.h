/* Fails every device call of a recorded list, one after the other: the same ops again and again,
 * with the first call of a kind refused, then the second, until a run ends in which none was, once
 * with one call refused and once with that and all later ones (SQLite tests its allocations like
 * that).  After each op in which a fault struck the fault is lifted, places, counters and contents
 * are compared, and an op that did not succeed is made once more; it may not fail for the device
 * then.  In the same way the target's open() is refused host memory. */
#ifndef HARNESS_SWEEP_SWEEP_H
#define HARNESS_SWEEP_SWEEP_H

#include "harness/run/run.h"

/* For ever comes first: where the first call for ever strikes nothing, no fault of the kind ever
 * strikes. */
enum sweep_mode { SWEEP_FOR_EVER = 0, SWEEP_ONCE, SWEEP_MODE_COUNT };
const char *sweep_mode_name(enum sweep_mode mode); /* "for ever", "once" */

/* A sweep has these phases: the list without a fault, open() of host 0, the list with faults. */
enum sweep_phase { SWEEP_PLAIN = 0, SWEEP_OPEN, SWEEP_LIST, SWEEP_DONE };

/* One replay: in it the fault strikes the call-th call (from 1) that its kind can strike on that
 * host. */
struct sweep_place {
    enum sweep_phase phase;
    enum fault_kind kind;
    uint32_t host;
    enum sweep_mode mode;
    uint64_t call;
};
/* "without a fault", "open: host_memory 3 once", "wait 12 for ever on host 1"; returns text. */
enum { SWEEP_PLACE_BYTES = 96 };
const char *sweep_place_print(const struct sweep_place *place, char text[SWEEP_PLACE_BYTES]);

/* The results of the faults of one kind. */
struct sweep_count {
    uint64_t calls; /* that it can strike, in the run without a fault */
    uint64_t replays;
    uint64_t failed[SWEEP_MODE_COUNT];        /* calls at which a replay's fault struck first */
    uint64_t strikes[SWEEP_MODE_COUNT];       /* ops in which it struck */
    uint64_t ops_failed, ops_succeeded, ooms; /* how these ended; the rest: TARGET_INVALID */
    uint64_t findings;
};

/* --- call sites: by which ways through a target's code its device calls come --- */

/* Two calls come from one site when they are of one kind and the same functions called each other
 * at the same places. */

/* Sites beyond so many are not kept: sweep_sites.is_full says so. */
enum { SWEEP_SITE_COUNT_MAX = 4096 };

struct sweep_site {
    uint64_t hash;      /* of the kind of call and the return addresses; 0 = free place */
    uint32_t struck_by; /* bit per fault_kind that struck here */
    uint32_t is_plain;  /* 1: seen in the run without a fault; else only after one */
};
/* A plain value without pointers; zero at first.  What it holds is of one process and its forks:
 * never print a hash. */
struct sweep_sites {
    struct sweep_site sites[SWEEP_SITE_COUNT_MAX];
    uint64_t count;
    uint64_t is_full;
};

/* The site with that hash, made if it is new; NULL when there is no place. */
struct sweep_site *sweep_site_find(struct sweep_sites *sites, uint64_t hash);
/* Adds what other knows; both are of one process or its forks. */
void sweep_sites_add(struct sweep_sites *sites, const struct sweep_sites *other);

struct sweep_site_counts {
    uint64_t plain;        /* seen without a fault */
    uint64_t plain_struck; /* of these: a fault of the mask struck there */
    uint64_t later;        /* reached only after a fault */
    uint64_t later_struck;
};
/* kinds: bit per fault_kind. */
struct sweep_site_counts sweep_sites_count(const struct sweep_sites *sites, uint32_t kinds);

/* Returns how deep the caller is in calls. */
int sweep_depth(void);
/* The site of a device call, as its witness sees it: what lies between caller, the witness's own
 * return address, and the function that was at `depth`.  Never 0.  About a microsecond. */
uint64_t sweep_site_here(enum fault_kind call, const void *caller, int depth);

/* --- a sweep --- */

/* A plain value without pointers, zero at first, in which a sweep says where it is: it may lie in
 * memory that outlives a process that the target ends. */
struct sweep_result {
    struct sweep_place place; /* the replay under way */
    uint32_t host_count;
    uint64_t op_count;                                         /* of the list that is replayed */
    uint64_t calls[OP_HOST_COUNT_MAX][DEVICE_CALL_KIND_COUNT]; /* in the run without a fault */
    struct sweep_count open;
    struct sweep_count kinds[FAULT_KIND_COUNT];
    struct sweep_sites sites;
    uint64_t found[RULE_COUNT]; /* findings by rule; [RULE_NONE]: our judges disagreed */
    uint64_t replays;
    struct run_totals totals; /* of all replays */
};
/* Findings of one rule beyond so many are only counted. */
enum { SWEEP_SAME_COUNT_MAX = 5 };

/* A promise that broke.  All of it is valid during the call alone. */
struct sweep_finding {
    struct sweep_place place;
    const struct setup *setup;
    const struct verdict *verdict;
    const char *message;   /* the target's words, or "" */
    const struct run *run; /* just after the op; NULL in the phase SWEEP_OPEN */
    /* as run, everything put in: it replays by itself. Empty in the phase SWEEP_OPEN */
    const struct op_list *ops;
};

/* A sweep calls these while it works; each may be NULL. */
struct sweep_listener {
    void *context;
    void (*begins)(void *context, const struct setup *setup); /* a replay */
    void (*steps)(void *context, const struct op *op);        /* before each of its ops */
    void (*found)(void *context, const struct sweep_finding *finding);
};

struct sweep {
    const struct target *target;
    const struct setup *setup;
    const struct op_list *ops; /* recorded: no op is relative.  Its own faults are left out */
    struct sweep_listener listener;
};

/* Goes on at result->place until that is SWEEP_DONE.  A list that breaks a promise without any
 * fault ends the sweep. False: the target refuses the setup; reason says why.  Cost: (calls of each
 * kind) times (ops) times 2, and more where many ops fail. */
bool sweep_run(const struct sweep *sweep, struct sweep_result *result,
               char reason[RUN_REASON_BYTES]);

/* The replay at result->place never ended: it counts as a finding of the rule, and the next one is
 * due; leaves_mode: the first one of the next mode.  Returns how many of the rule there were. */
uint64_t sweep_skip(struct sweep_result *result, enum rule rule, bool leaves_mode);

uint64_t sweep_findings(const struct sweep_result *result);
/* True if each call of the plain run was refused, once and forever. */
bool sweep_is_complete(const struct sweep_result *result);

#endif
