/* Regret is what a request cost beyond what it had to: evictions and moves that a cheaper plan
 * would have spared.  It breaks no promise unless the setup says how much is too much. */
#ifndef HARNESS_ORACLE_REGRET_H
#define HARNESS_ORACLE_REGRET_H

#include "harness/oracle/plan.h"

enum regret_kind {
    REGRET_EVICTED_NEEDLESSLY =
        0,                   /* a program was evicted though draining or moving would have done */
    REGRET_MOVED_NEEDLESSLY, /* a block was moved though a hole fitted */
    REGRET_EVICTED_TOO_MUCH, /* more programs, or more of their bytes, than the cheapest plan evicts
                              */
    REGRET_MOVED_TOO_MUCH,   /* more bytes than the cheapest plan found moves */
    REGRET_IN_VAIN,          /* moved or evicted, and refused the request all the same */
    REGRET_KIND_COUNT
};
struct regret_info {
    const char *name; /* as in JSON: "evicted_needlessly" */
    const char *summary;
};
const struct regret_info *regret_info(enum regret_kind kind);

/* The mitigations that one request took. */
struct regret_spent {
    uint64_t evicted_count, evicted_bytes, moved_bytes;
    bool is_met; /* the request got its place */
};

/* The regret of one request. */
struct regret {
    uint32_t kinds;                      /* bit per regret_kind; 0 = nothing */
    uint64_t evicted_bytes, moved_bytes; /* beyond the cheapest plan */
    bool is_unknown; /* the search for a plan reached its budget: nothing is said */
};

/* 20,000 nodes: a regret is a hint on every op, not a verdict. */
#define REGRET_NODES_MAX UINT64_C(20000)

/* Compares with the cheapest plan from the state before the first eviction or move. */
struct regret regret_judge(struct planner *planner, const struct oom *before,
                           const struct regret_spent *spent);

/* True: regret_judge() regrets nothing of a request that was met by moving so many bytes and
 * evicting nothing, for no plan from the model's state moves fewer.  False: it is not known.  O(log
 * blocks + what changed since it was asked last), and more for each place that a cheaper plan might
 * have. */
bool regret_has_none(const struct model *model, const struct oom_request *request,
                     uint64_t moved_bytes);

#endif
